#include "backend/cpu/conv/conv_calls.hpp"

#include <string_view>

#include "backend/cpu/loops/vector_loops.hpp"

namespace pipetrain::cpu {
namespace {

using Desc = dnnl::memory::desc;
using Tag = dnnl::memory::format_tag;
using Access = ConvertedCall::Access;
using dnnl::algorithm;
using Forward = dnnl::convolution_forward;
using BackwardData = dnnl::convolution_backward_data;
using BackwardWeights = dnnl::convolution_backward_weights;

dnnl::primitive_attr attributes(bool with_relu) {
  dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  if (!with_relu) return attributes;
  dnnl::post_ops operations;
  operations.append_eltwise(algorithm::eltwise_relu, 0, 0);
  attributes.set_post_ops(operations);
  return attributes;
}

struct Layouts {
  Desc image, weights, output;
};

Desc in(const Desc& operand, Tag tag) { return {operand.get_dims(), operand.get_data_type(), tag}; }

// The layouts to ask kernels for, best first: those that copy no weights, then those that copy no
// images. For images of one or two channels there are only nhwc kernels.
std::vector<Layouts> choices(const ConvLayout& l, const Desc& weights) {
  std::vector<Layouts> all{{l.input, weights, l.output}};
  if (l.block == kLanes) return all;
  const Tag image = l.kind == ConvLayout::Kind::Plain ? Tag::nchw : Tag::nChw8c;
  for (const auto& [of_input, of_output] :
       {std::pair(image, Tag::nChw8c), {Tag::nhwc, Tag::nhwc}, {Tag::any, Tag::any}})
    all.push_back({in(l.input, of_input), weights, in(l.output, of_output)});
  for (std::size_t i = 0, count = all.size(); i < count; ++i)
    all.push_back({all[i].image, in(weights, Tag::any), all[i].output});
  return all;
}

// Otherwise the library has fallen back on an implementation that is hundreds of times slower.
template <class Description>
bool is_fast(const Description& description) {
  return description && !std::string_view(description.impl_info_str()).starts_with("ref");
}

template <class Make>
auto first_fast(const std::vector<Layouts>& choices, Make make) {
  if (choices.size() > 1)
    for (const Layouts& layouts : choices)
      if (auto description = make(layouts, true); is_fast(description)) return description;
  return make(choices.back(), false);
}

}  // namespace

ConvCallMaker::ConvCallMaker(const Conv2d& spec, const Problem& problem, const ConvLayout& layout)
    : layout_(layout),
      with_relu_(problem.with_relu),
      stride_(spec.stride.begin(), spec.stride.end()),
      padding_(spec.padding.begin(), spec.padding.end()),
      bias_(spec.bias ? layout.bias : Desc()) {
  const auto direction = problem.mode == Mode::Train ? dnnl::prop_kind::forward_training
                                                     : dnnl::prop_kind::forward_inference;
  forward_ =
      first_fast(choices(layout_, layout_.read_weights), [&](const Layouts& l, bool may_be_empty) {
        return Forward::primitive_desc(engine(), direction, algorithm::convolution_direct, l.image,
                                       l.weights, bias_, l.output, stride_, padding_, padding_,
                                       attributes(with_relu_), may_be_empty);
      });
}

ConvertedCall ConvCallMaker::forward() const {
  const ConvLayout& l = layout_;
  std::vector<ConvertedCall::Operand> operands{
      {DNNL_ARG_SRC, Access::Read, l.input, forward_.src_desc()},
      {DNNL_ARG_WEIGHTS, Access::Read, l.read_weights, forward_.weights_desc()},
      {DNNL_ARG_DST, Access::Write, l.output, forward_.dst_desc()}};
  if (!bias_.is_zero()) operands.push_back({DNNL_ARG_BIAS, Access::Read, bias_, bias_});
  return {Forward(forward_), operands, forward_.scratchpad_desc()};
}

ConvertedCall ConvCallMaker::backward_input() const {
  const ConvLayout& l = layout_;
  const auto made =
      first_fast(choices(l, l.packed_weights), [&](const Layouts& asked, bool may_be_empty) {
        return BackwardData::primitive_desc(engine(), algorithm::convolution_direct, asked.image,
                                            asked.weights, asked.output, stride_, padding_,
                                            padding_, forward_, attributes(false), may_be_empty);
      });
  return {BackwardData(made),
          {{DNNL_ARG_DIFF_SRC, Access::Write, l.input, made.diff_src_desc()},
           {DNNL_ARG_WEIGHTS, Access::Read, l.packed_weights, made.weights_desc()},
           {DNNL_ARG_DIFF_DST, Access::Read, l.output, made.diff_dst_desc()}},
          made.scratchpad_desc()};
}

ConvertedCall ConvCallMaker::backward_weight() const {
  const ConvLayout& l = layout_;
  const auto made = first_fast(choices(l, l.weights), [&](const Layouts& asked, bool may_be_empty) {
    return BackwardWeights::primitive_desc(engine(), algorithm::convolution_direct, asked.image,
                                           asked.weights, bias_, asked.output, stride_, padding_,
                                           padding_, forward_, attributes(false), may_be_empty);
  });
  std::vector<ConvertedCall::Operand> operands{
      {DNNL_ARG_SRC, Access::Read, l.input, made.src_desc()},
      {DNNL_ARG_DIFF_WEIGHTS, Access::Write, l.weights, made.diff_weights_desc()},
      {DNNL_ARG_DIFF_DST, Access::Read, l.output, made.diff_dst_desc()}};
  if (!bias_.is_zero()) operands.push_back({DNNL_ARG_DIFF_BIAS, Access::Write, bias_, bias_});
  return {BackwardWeights(made), operands, made.scratchpad_desc()};
}

}  // namespace pipetrain::cpu
