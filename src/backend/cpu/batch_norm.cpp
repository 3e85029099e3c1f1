// Batch normalisation per channel (Ioffe and Szegedy, 2015), 16 channels at a time: statistics in
// one pass over x, shifted by its first value so that nothing cancels, and the result in a second.
// If a relu alone reads the output, this kernel does its forward and its backward: training saves
// which elements the relu kept, one byte each. Both halves of the backward need the sums over the
// output gradient; the first half keeps them for the second.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "backend/cpu/kernel.hpp"
#include "backend/cpu/loops/vector_loops.hpp"
#include "backend/cpu/parallel.hpp"
#include "base/bytes_of.hpp"

namespace pipetrain::cpu {
namespace {

struct Lanes {
  alignas(64) float values[kLanes] = {};
};

struct GradientSums {  // per channel: of dy, and of dy (x - mean)
  double sum[kLanes], product[kLanes];
};

template <class E>
class BatchNormKernel final : public CpuKernel {
 public:
  BatchNormKernel(Problem problem, const BatchNorm& spec)
      : CpuKernel(std::move(problem)),
        spec_(spec),
        channels_(problem_.output.channels),
        blocks_(round_up(channels_, kLanes) / kLanes),
        count_(static_cast<double>(problem_.samples * problem_.output.pixels())) {
    traits_.backward_input_reads_inputs = traits_.backward_weight_reads_inputs = true;
    if (problem_.mode == Mode::Train)
      traits_.saved_bytes = sums_bytes() + statistics_bytes() +
                            (masks() ? static_cast<std::size_t>(problem_.output_elements()) : 0);
  }

  void forward(const ForwardArguments& a) override {
    each_block([&](std::int64_t b) { forward_block(a, b); });
  }

  void backward_input(const BackwardInputArguments& a) override {
    if (!a.input_gradients[0]) return;
    each_block([&](std::int64_t b) {
      const E *x = elements<E>(a.inputs[0]) + offset(b),
              *dy = elements<E>(a.output_gradient) + offset(b);
      const BatchNormLoop loop = loop_of(a.saved, b);
      const GradientSums sums = sums_of(loop, x, dy);
      if (keeps_sums()) static_cast<GradientSums*>(a.saved)[b] = sums;
      Lanes factor, shift, slope;
      const float* gamma = floats(a.weights.parameters[0]) + b * kLanes;
      for (std::int64_t i = 0; i < kLanes; ++i) {
        const double scale = static_cast<double>(loop.scale[i]);
        factor.values[i] = loop.scale[i] * gamma[i];
        shift.values[i] = static_cast<float>(sums.sum[i] / count_);
        slope.values[i] = static_cast<float>(sums.product[i] / count_ * scale * scale);
      }
      loops_.normalise_backward(loop, x, dy, factor.values, shift.values, slope.values,
                                elements<E>(a.input_gradients[0]) + offset(b));
    });
  }

  void backward_weight(const BackwardWeightArguments& a) override {
    each_block([&](std::int64_t b) {
      const BatchNormLoop loop = loop_of(a.saved, b);
      const GradientSums sums = keeps_sums() ? static_cast<const GradientSums*>(a.saved)[b]
                                             : sums_of(loop, elements<E>(a.inputs[0]) + offset(b),
                                                       elements<E>(a.output_gradient) + offset(b));
      float *gamma = floats(a.gradients[0]) + b * kLanes,
            *beta = floats(a.gradients[1]) + b * kLanes;
      for (std::int64_t i = 0; i < kLanes; ++i) {
        const auto dgamma =
            static_cast<float>(sums.product[i] * static_cast<double>(loop.scale[i]));
        const auto dbeta = static_cast<float>(sums.sum[i]);
        gamma[i] = a.accumulate ? gamma[i] + dgamma : dgamma;
        beta[i] = a.accumulate ? beta[i] + dbeta : dbeta;
      }
    });
  }

 private:
  bool masks() const { return problem_.with_relu && problem_.mode == Mode::Train; }
  // backward_input() runs before backward_weight() if there are parameters upstream of this layer.
  bool keeps_sums() const { return problem_.wants_input_gradient; }
  GradientSums sums_of(const BatchNormLoop& loop, const E* x, const E* dy) const {
    GradientSums sums;
    loops_.gradient_sums(loop, x, dy, sums.sum, sums.product);
    return sums;
  }
  // Saved: the gradient sums of each block, mean [padded channels], scale [padded channels], the
  // mask.
  std::size_t sums_bytes() const { return keeps_sums() ? bytes_of<GradientSums>(blocks_) : 0; }
  std::size_t statistics_bytes() const { return bytes_of<float>(2 * blocks_ * kLanes); }
  std::int64_t lanes(std::int64_t block) const {
    return problem_.output.blocked ? kLanes : std::min(kLanes, channels_ - block * kLanes);
  }
  // Where the block begins in its value. The pixels of a vector are its samples.
  std::int64_t offset(std::int64_t block) const {
    return block * kLanes * (problem_.output.blocked ? problem_.output.pixels() : 1);
  }
  ChannelWalk walk(std::int64_t block) const {
    const ValueLayout& layout = problem_.output;
    return {.samples = problem_.samples,
            .sample_stride = layout.stored_elements(),
            .pixels = layout.pixels(),
            .pixel_stride = kLanes,
            .lanes = lanes(block)};
  }
  BatchNormLoop loop_of(const void* saved, std::int64_t block) const {
    const float* statistics = floats(bytes(saved) + sums_bytes()) + block * kLanes;
    return {.walk = walk(block),
            .mean = statistics,
            .scale = statistics + blocks_ * kLanes,
            .kept = masks() ? bytes(saved) + sums_bytes() + statistics_bytes() + offset(block)
                            : nullptr};
  }
  template <class Body>
  void each_block(Body body) const {
    parallel_each(blocks_, 2 * kElementWork * problem_.output_elements(), body);
  }

  void forward_block(const ForwardArguments& a, std::int64_t b) const {
    const E* x = elements<E>(a.inputs[0]) + offset(b);
    Lanes mean, scale;
    std::uint8_t* kept = nullptr;
    if (problem_.mode == Mode::Train) {
      measure(a, b, x, mean, scale);
      float* statistics = floats(bytes(a.saved) + sums_bytes()) + b * kLanes;
      std::memcpy(statistics, mean.values, sizeof mean.values);
      std::memcpy(statistics + blocks_ * kLanes, scale.values, sizeof scale.values);
      if (masks()) kept = bytes(a.saved) + sums_bytes() + statistics_bytes() + offset(b);
    } else {
      recall(a, b, mean, scale);
    }
    const BatchNormLoop loop{
        .walk = walk(b), .mean = mean.values, .scale = scale.values, .kept = nullptr};
    loops_.normalise(loop, x, floats(a.weights.parameters[0]) + b * kLanes,
                     floats(a.weights.parameters[1]) + b * kLanes,
                     elements<E>(a.output) + offset(b), kept, problem_.with_relu);
  }

  float scale_of(double variance) const {
    return static_cast<float>(1 / std::sqrt(variance + spec_.eps));
  }

  // Measures the micro-batch's statistics and moves the running ones towards them.
  void measure(const ForwardArguments& a, std::int64_t b, const E* x, Lanes& mean,
               Lanes& scale) const {
    Lanes shift;
    double sum[kLanes], squares[kLanes];
    for (std::int64_t i = 0; i < lanes(b); ++i) shift.values[i] = to_float(x[i]);
    loops_.moments(walk(b), x, shift.values, sum, squares);
    const double m = spec_.momentum;
    for (std::int64_t i = 0; i < lanes(b); ++i) {
      const double shifted = sum[i] / count_;
      const double centred = static_cast<double>(shift.values[i]) + shifted;
      const double spread = std::max(squares[i] - sum[i] * shifted, 0.0);
      mean.values[i] = static_cast<float>(centred);
      scale.values[i] = scale_of(spread / count_);
      const std::int64_t c = b * kLanes + i;
      if (c >= channels_ || a.again) continue;
      float &running_mean = floats(a.buffers[0])[c], &running_var = floats(a.buffers[1])[c];
      // A single value has no unbiased variance; its 0 is used.
      const double unbiased = spread / std::max(count_ - 1, 1.0);
      running_mean = static_cast<float>((1 - m) * static_cast<double>(running_mean) + m * centred);
      running_var = static_cast<float>((1 - m) * static_cast<double>(running_var) + m * unbiased);
    }
  }

  void recall(const ForwardArguments& a, std::int64_t b, Lanes& mean, Lanes& scale) const {
    for (std::int64_t c = b * kLanes; c < std::min(channels_, (b + 1) * kLanes); ++c) {
      mean.values[c % kLanes] = floats(a.buffers[0])[c];
      scale.values[c % kLanes] = scale_of(static_cast<double>(floats(a.buffers[1])[c]));
    }
  }

  const ElementLoops<E>& loops_ = element_loops<E>();
  BatchNorm spec_;
  std::int64_t channels_, blocks_;
  double count_;  // values per channel
};

}  // namespace

std::unique_ptr<Kernel> make_kernel(const BatchNorm& spec, Problem problem) {
  return make_by_element<BatchNormKernel>(std::move(problem), spec);
}

ParameterLayout parameter_layout(const BatchNorm&, const Problem& problem, int) {
  return channel_parameter(problem.output.channels, kLanes);
}

}  // namespace pipetrain::cpu
