// Convolutions by oneDNN, between images in blocks of 16 channels. The weight gradient is written
// in the layout that the forward reads; the input gradient reads a packed copy. If a relu alone
// reads the output, the forward's primitive applies it. If a block has only a few channels in use,
// our own loops do the forward and the weight gradient. bf16 products read packed copies in both
// directions and leave the weight gradient in f32.
#include <algorithm>

#include "backend/cpu/conv/conv_calls.hpp"
#include "backend/cpu/conv/conv_weight_gradient.hpp"
#include "backend/cpu/conv/small_images.hpp"
#include "backend/cpu/conv/winograd.hpp"
#include "backend/cpu/loops/vector_loops.hpp"
#include "backend/cpu/onednn.hpp"
#include "backend/cpu/parallel.hpp"
#include "backend/cpu/widened.hpp"
#include "graph/layer.hpp"

namespace pipetrain::cpu {
namespace {

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

  void backward_weight(const BackwardWeightArguments& a) override {
    if (few_channels_) return few_channels_weight(a);
    if (small_images_) return small_images_backward_weight(spec_, problem_, a, threads_);
    weight_gradient_(a);
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
            .with_relu = problem_.with_relu};
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

  // A thread has its own rows of taps and adds up the samples in their order.
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
        if (bias)
          loops_.f32.add_rows(dy + block * pixels, problem_.output.pixels(), kLanes, kLanes, bias);
      }
    });
  }

  const std::string& name() const { return problem_.layer->name; }

  void prepare() {
    const ConvCallMaker make(spec_, problem_, layout_);
    forward_ = make.forward();
    traits_.scratch_bytes = forward_.scratch_bytes();
    if (problem_.mode != Mode::Train) return;
    backward_input_ = make.backward_input();
    traits_.scratch_bytes = std::max(
        traits_.scratch_bytes,
        backward_input_.scratch_bytes() +
            (problem_.wants_input_gradient ? 0 : packed_bytes(spec_, problem_, Pass::Backward)));
    if (small_images_) {
      traits_.scratch_bytes =
          std::max(traits_.scratch_bytes, small_images_scratch_bytes(problem_, threads_));
      return;
    }
    if (few_channels_) return;
    weight_gradient_ = ConvWeightGradient(spec_, problem_, layout_);
    traits_.scratch_bytes = std::max(traits_.scratch_bytes, weight_gradient_.scratch_bytes());
  }

  const VectorLoops& loops_ = vector_loops();
  Conv2d spec_;
  ConvLayout layout_;
  bool is_packed_;
  bool few_channels_ = false;  // our own loops do the forward and the weight gradient
  int threads_ = omp_get_max_threads();
  bool small_images_ = false;  // our own loops do the weight gradient
  ConvertedCall forward_, backward_input_;
  ConvWeightGradient weight_gradient_;  // otherwise
};

}  // namespace

namespace {

std::unique_ptr<Kernel> make_conv(const Conv2d& spec, Problem problem) {
  if (has_winograd(spec, problem)) return make_winograd(spec, std::move(problem));
  return std::make_unique<ConvKernel>(spec, std::move(problem));
}

}  // namespace

std::unique_ptr<Kernel> make_kernel(const Conv2d& spec, Problem problem) {
  if (!is_bf16(problem) || problem.multiplies_bf16) return make_conv(spec, std::move(problem));
  auto f32 = make_conv(spec, in_f32(problem));
  return make_widened(std::move(problem), std::move(f32));
}

}  // namespace pipetrain::cpu
