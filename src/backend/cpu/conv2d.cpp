// Convolutions by oneDNN, on images in blocks of 16 channels. The weight gradient is written in the
// layout that the forward reads; the input gradient reads a packed copy. A relu that alone reads
// the output is done by the forward's primitive. Where few channels of a block are filled, our own
// loops do the forward and the weight gradient. Products of bf16 read packed copies in both passes,
// and leave a weight gradient in f32.
#include <algorithm>

#include "backend/cpu/conv_layout.hpp"
#include "backend/cpu/onednn.hpp"
#include "backend/cpu/parallel.hpp"
#include "backend/cpu/small_images.hpp"
#include "backend/cpu/vector_loops.hpp"
#include "backend/cpu/widened.hpp"

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
    few_channels_ = has_few_channels(spec, problem_);
    small_images_ = !few_channels_ && has_small_images(spec, problem_);
    with_onednn(name(), "convolution", [&] { prepare(); });
    if (layout_.merged && problem_.mode == Mode::Train) mark_diagonal();
  }

  void forward(const ForwardArguments& a) override {
    if (few_channels_) return few_channels_forward(a);
    const void* input = a.inputs[0];
    const void* weights = layout_.multiplies_bf16 ? a.weights.packed : a.weights.parameters[0];
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
      pack(spec_, problem_, Pass::Backward, floats(a.weights.parameters[0]), a.scratch);
      packed = a.scratch;
      scratchpad += packed_bytes(spec_, problem_, Pass::Backward);
    }
    backward_input_(name(), {a.input_gradients[0], packed, a.output_gradient, scratchpad});
  }

  // The library only overwrites: to accumulate, the sum goes to scratch first.
  void backward_weight(const BackwardWeightArguments& a) override {
    if (few_channels_) return few_channels_weight(a);
    if (small_images_) return small_images_backward_weight(spec_, problem_, a, threads_);
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
  FewChannelsLoop few_channels_loop() const {
    const ValueLayout &in = problem_.inputs[0], &out = problem_.output;
    return {.in_height = in.height,
            .in_width = in.width,
            .out_height = out.height,
            .out_width = out.width,
            .channels = in.channels,
            .out_blocks = layout_.outputs / kLanes,
            .kernel = spec_.kernel,
            .rectify = problem_.rectifies};
  }
  std::int64_t few_channels_work() const {
    return problem_.output_elements() * spec_.kernel[0] * spec_.kernel[1] * kFewChannels;
  }

  void few_channels_forward(const ForwardArguments& a) const {
    const FewChannelsLoop loop = few_channels_loop();
    const float* bias = spec_.bias ? floats(a.weights.parameters[1]) : nullptr;
    parallel_each(problem_.samples, few_channels_work(), [&](std::int64_t n) {
      loops_.few_channels_forward(loop,
                                  floats(a.inputs[0]) + n * problem_.inputs[0].stored_elements(),
                                  floats(a.weights.parameters[0]), bias,
                                  floats(a.output) + n * problem_.output.stored_elements());
    });
  }

  // A thread has rows of taps of its own, and adds the samples up in their order.
  void few_channels_weight(const BackwardWeightArguments& a) const {
    const FewChannelsLoop loop = few_channels_loop();
    const std::int64_t rows = loop.kernel[0], pixels = problem_.output.pixels() * kLanes;
    const std::int64_t row_elements = loop.kernel[1] * kLanes * kLanes;
    parallel_each(loop.out_blocks * rows, few_channels_work(), [&](std::int64_t i) {
      const std::int64_t block = i / rows, row = i % rows;
      float* bias = spec_.bias && row == 0 ? floats(a.gradients[1]) + block * kLanes : nullptr;
      if (!a.accumulate) {
        std::fill_n(floats(a.gradients[0]) + i * row_elements, row_elements, 0.0f);
        if (bias) std::fill_n(bias, kLanes, 0.0f);
      }
      for (std::int64_t n = 0; n < problem_.samples; ++n) {
        const float* dy = floats(a.output_gradient) + n * problem_.output.stored_elements();
        loops_.few_channels_weight(loop, block, row,
                                   floats(a.inputs[0]) + n * problem_.inputs[0].stored_elements(),
                                   dy, floats(a.gradients[0]));
        if (bias) loops_.sum_pixels(dy + block * pixels, problem_.output.pixels(), bias);
      }
    });
  }

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
                                          l.input, l.read_weights, bias, l.output, stride, padding,
                                          padding, attributes(problem_.rectifies));
    forward_ = call(forward, DNNL_ARG_SRC, l.input, DNNL_ARG_WEIGHTS, l.read_weights, DNNL_ARG_DST,
                    DNNL_ARG_BIAS);
    traits_.scratch_bytes = forward_.scratchpad_bytes();
    if (problem_.mode != Mode::Train) return;
    const BackwardData::primitive_desc input(engine(), algorithm::convolution_direct, l.input,
                                             l.packed_weights, l.output, stride, padding, padding,
                                             forward, attributes(false));
    backward_input_ = call(input, DNNL_ARG_DIFF_SRC, l.input, DNNL_ARG_WEIGHTS, l.packed_weights,
                           DNNL_ARG_DIFF_DST, 0);
    traits_.scratch_bytes = std::max(
        traits_.scratch_bytes,
        backward_input_.scratchpad_bytes() +
            (problem_.wants_input_gradient ? 0 : packed_bytes(spec_, problem_, Pass::Backward)));
    if (small_images_) {
      traits_.scratch_bytes =
          std::max(traits_.scratch_bytes, small_images_scratch_bytes(problem_, threads_));
      return;
    }
    const BackwardWeights::primitive_desc weight(engine(), algorithm::convolution_direct, l.input,
                                                 l.weights, bias, l.output, stride, padding,
                                                 padding, forward, attributes(false));
    backward_weight_ = call(weight, DNNL_ARG_SRC, l.input, DNNL_ARG_DIFF_WEIGHTS, l.weights,
                            DNNL_ARG_DIFF_DST, DNNL_ARG_DIFF_BIAS);
    traits_.scratch_bytes =
        std::max(traits_.scratch_bytes,
                 backward_weight_.scratchpad_bytes() +
                     static_cast<std::size_t>(accumulator_elements()) * sizeof(float));
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
    loops_.f32.drop(weights, on_diagonal_.data(), 1, weights, layout_.weight_elements);
  }

  void accumulate(const float* from, float* to, std::int64_t elements) const {
    parallel_ranges(elements, kElementWork * elements, [&](std::int64_t begin, std::int64_t end) {
      loops_.f32.add(to + begin, from + begin, to + begin, end - begin, false);
    });
  }

  const VectorLoops& loops_ = vector_loops();
  Conv2d spec_;
  ConvLayout layout_;
  bool is_packed_;
  bool few_channels_ = false;  // our own loops do the forward and the weight gradient
  int threads_ = omp_get_max_threads();
  bool small_images_ = false;  // our own loops do the weight gradient
  PreparedCall forward_, backward_input_, backward_weight_;
  std::vector<std::uint8_t> on_diagonal_;
};

}  // namespace

std::unique_ptr<Kernel> make_kernel(const Conv2d& spec, Problem problem) {
  if (!is_bf16(problem) || problem.multiplies_bf16)
    return std::make_unique<ConvKernel>(spec, std::move(problem));
  auto f32 = std::make_unique<ConvKernel>(spec, in_f32(problem));
  return make_widened(std::move(problem), std::move(f32));
}

}  // namespace pipetrain::cpu
