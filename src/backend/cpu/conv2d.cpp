// Convolutions by oneDNN, on images in blocks of 16 channels. The weight gradient is written in the
// layout that the forward reads; the input gradient reads a packed copy. A relu that alone reads
// the output is done by the forward's primitive.
#include <algorithm>

#include "backend/cpu/conv_layout.hpp"
#include "backend/cpu/onednn.hpp"
#include "backend/cpu/parallel.hpp"
#include "backend/cpu/vector_loops.hpp"

namespace pipetrain::cpu {
namespace {

using dnnl::algorithm;
using Forward = dnnl::convolution_forward;
using BackwardData = dnnl::convolution_backward_data;
using BackwardWeights = dnnl::convolution_backward_weights;

dnnl::primitive_attr attributes(bool rectifies) {
  dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  if (!rectifies) return attributes;
  dnnl::post_ops operations;
  operations.append_eltwise(algorithm::eltwise_relu, 0, 0);
  attributes.set_post_ops(operations);
  return attributes;
}

class ConvKernel final : public CpuKernel {
 public:
  ConvKernel(const Conv2d& spec, Problem problem)
      : CpuKernel(std::move(problem)),
        spec_(spec),
        layout_(conv_layout(spec, problem_)),
        is_packed_(layout_.kind == ConvLayout::Kind::Blocked) {
    traits_.backward_weight_reads_inputs = true;
    with_onednn(name(), "convolution", [&] { prepare(); });
    if (layout_.merged && problem_.mode == Mode::Train) mark_diagonal();
  }

  void forward(const ForwardArguments& a) override {
    const void *input = a.inputs[0], *weights = a.weights.parameters[0];
    if (spec_.bias)
      forward_(name(), {input, weights, a.output, a.weights.parameters[1], a.scratch});
    else
      forward_(name(), {input, weights, a.output, a.scratch});
  }

  void backward_input(const BackwardInputArguments& a) override {
    if (!a.input_gradients[0]) return;
    const void* packed = a.weights.packed;
    char* scratchpad = static_cast<char*>(a.scratch);
    if (!is_packed_)
      packed = a.weights.parameters[0];
    else if (!problem_.wants_input_gradient) {
      pack(spec_, problem_, floats(a.weights.parameters[0]), floats(a.scratch));
      packed = a.scratch;
      scratchpad += packed_bytes(spec_, problem_);
    }
    backward_input_(name(), {a.input_gradients[0], packed, a.output_gradient, scratchpad});
  }

  // The library only overwrites: to accumulate, the sum goes to scratch first.
  void backward_weight(const BackwardWeightArguments& a) override {
    float* scratch = floats(a.scratch);
    float* weights = a.accumulate ? scratch : floats(a.gradients[0]);
    float* bias = !spec_.bias    ? nullptr
                  : a.accumulate ? scratch + layout_.weight_elements
                                 : floats(a.gradients[1]);
    void* scratchpad = scratch + accumulator_elements();
    if (spec_.bias)
      backward_weight_(name(), {a.inputs[0], weights, a.output_gradient, bias, scratchpad});
    else
      backward_weight_(name(), {a.inputs[0], weights, a.output_gradient, scratchpad});
    if (layout_.merged) clear_beside_diagonal(weights);
    if (!a.accumulate) return;
    accumulate(weights, floats(a.gradients[0]), layout_.weight_elements);
    if (spec_.bias) accumulate(bias, floats(a.gradients[1]), layout_.outputs);
  }

 private:
  const std::string& name() const { return problem_.layer->name; }
  std::int64_t accumulator_elements() const { return layout_.weight_elements + layout_.outputs; }

  void prepare() {
    const dnnl::memory::dims stride(spec_.stride.begin(), spec_.stride.end()),
        padding(spec_.padding.begin(), spec_.padding.end());
    const ConvLayout& l = layout_;
    const dnnl::memory::desc bias = spec_.bias ? l.bias : dnnl::memory::desc();
    const auto direction = problem_.mode == Mode::Train ? dnnl::prop_kind::forward_training
                                                        : dnnl::prop_kind::forward_inference;
    const Forward::primitive_desc forward(engine(), direction, algorithm::convolution_direct,
                                          l.input, l.weights, bias, l.output, stride, padding,
                                          padding, attributes(problem_.rectifies));
    forward_ = call(forward, DNNL_ARG_SRC, l.input, DNNL_ARG_WEIGHTS, l.weights, DNNL_ARG_DST,
                    DNNL_ARG_BIAS);
    traits_.scratch_bytes = forward_.scratchpad_bytes();
    if (problem_.mode != Mode::Train) return;
    const BackwardData::primitive_desc input(engine(), algorithm::convolution_direct, l.input,
                                             l.packed_weights, l.output, stride, padding, padding,
                                             forward, attributes(false));
    backward_input_ = call(input, DNNL_ARG_DIFF_SRC, l.input, DNNL_ARG_WEIGHTS, l.packed_weights,
                           DNNL_ARG_DIFF_DST, 0);
    const BackwardWeights::primitive_desc weight(engine(), algorithm::convolution_direct, l.input,
                                                 l.weights, bias, l.output, stride, padding,
                                                 padding, forward, attributes(false));
    backward_weight_ = call(weight, DNNL_ARG_SRC, l.input, DNNL_ARG_DIFF_WEIGHTS, l.weights,
                            DNNL_ARG_DIFF_DST, DNNL_ARG_DIFF_BIAS);
    traits_.scratch_bytes =
        std::max({traits_.scratch_bytes,
                  backward_input_.scratchpad_bytes() +
                      (problem_.wants_input_gradient ? 0 : packed_bytes(spec_, problem_)),
                  backward_weight_.scratchpad_bytes() +
                      static_cast<std::size_t>(accumulator_elements()) * sizeof(float)});
  }

  // Image, weights, output, and the bias where the layer has one and the primitive takes it.
  template <class Description>
  PreparedCall call(const Description& description, int image_name, const dnnl::memory::desc& image,
                    int weights_name, const dnnl::memory::desc& weights, int output_name,
                    int bias_name) const {
    std::vector<PreparedCall::Argument> arguments{
        {image_name, image}, {weights_name, weights}, {output_name, layout_.output}};
    if (spec_.bias && bias_name != 0) arguments.push_back({bias_name, layout_.bias});
    return {dnnl::primitive(description.get()), arguments, description.scratchpad_desc()};
  }

  void mark_diagonal() {
    on_diagonal_.assign(static_cast<std::size_t>(layout_.weight_elements), 0);
    const ParameterLayout weights = parameter_layout(spec_, problem_, 0);
    const std::int64_t elements = problem_.layer->parameters[0].shape.elements();
    for (std::int64_t i = 0; i < elements; ++i)
      on_diagonal_[static_cast<std::size_t>(weights.position(i))] = 1;
  }
  void clear_beside_diagonal(float* weights) const {
    loops_.drop(weights, on_diagonal_.data(), 1, weights, layout_.weight_elements);
  }

  void accumulate(const float* from, float* to, std::int64_t elements) const {
    parallel_ranges(elements, elements, [&](std::int64_t begin, std::int64_t end) {
      loops_.add(to + begin, from + begin, to + begin, end - begin, false);
    });
  }

  const VectorLoops& loops_ = vector_loops();
  Conv2d spec_;
  ConvLayout layout_;
  bool is_packed_;
  PreparedCall forward_, backward_input_, backward_weight_;
  std::vector<std::uint8_t> on_diagonal_;
};

}  // namespace

std::unique_ptr<Kernel> make_kernel(const Conv2d& spec, Problem problem) {
  return std::make_unique<ConvKernel>(spec, std::move(problem));
}

}  // namespace pipetrain::cpu
