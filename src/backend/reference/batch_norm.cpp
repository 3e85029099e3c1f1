// Batch normalisation per channel (Ioffe and Szegedy, 2015): x' = (x - mean) / sqrt(var + eps),
// y = gamma x' + beta. In training, mean and (biased) variance are those of the micro-batch, and
// the running statistics move towards them by `momentum`, the variance as its unbiased estimate.
#include <algorithm>
#include <cmath>

#include "backend/reference/kernel.hpp"

namespace pipetrain::reference {
namespace {

struct Statistics {    // of one channel
  double mean, scale;  // scale = 1 / sqrt(var + eps)
};

class BatchNormKernel final : public ReferenceKernel {
 public:
  BatchNormKernel(const BatchNorm& spec, Problem problem)
      : ReferenceKernel(std::move(problem)),
        spec_(spec),
        channels_(problem_.output.dims[0]),
        inner_(problem_.output.elements() / channels_),
        count_(problem_.samples * inner_) {
    traits_.backward_input_reads_inputs = traits_.backward_weight_reads_inputs = true;
    if (problem_.mode == Mode::Train) traits_.saved_bytes = channels_ * sizeof(Statistics);
  }

  void forward(const ForwardArguments& a) override {
    const float *x = floats(a.inputs[0]), *gamma = floats(a.weights.parameters[0]),
                *beta = floats(a.weights.parameters[1]);
    for (std::int64_t c = 0; c < channels_; ++c) {
      const Statistics of = statistics(a, c);
      for_each(c, [&](std::int64_t i) {
        floats(a.output)[i] = static_cast<float>((x[i] - of.mean) * of.scale * gamma[c] + beta[c]);
      });
    }
  }

  // With g = dy: dx = gamma scale (g - mean(g) - x' mean(g x')).
  void backward_input(const BackwardInputArguments& a) override {
    if (!a.input_gradients[0]) return;
    const float *x = floats(a.inputs[0]), *dy = floats(a.output_gradient),
                *gamma = floats(a.weights.parameters[0]);
    for (std::int64_t c = 0; c < channels_; ++c) {
      const auto [mean, scale] = static_cast<const Statistics*>(a.saved)[c];
      const auto [sum, product] = gradient_sums(x, dy, a.saved, c);
      const double count = static_cast<double>(count_);
      for_each(c, [&, mean = mean, scale = scale, sum = sum, product = product](std::int64_t i) {
        const double normal = (x[i] - mean) * scale;
        floats(a.input_gradients[0])[i] =
            static_cast<float>(gamma[c] * scale * (dy[i] - sum / count - normal * product / count));
      });
    }
  }

  void backward_weight(const BackwardWeightArguments& a) override {
    for (std::int64_t c = 0; c < channels_; ++c) {
      const auto [sum, product] =
          gradient_sums(floats(a.inputs[0]), floats(a.output_gradient), a.saved, c);
      put(floats(a.gradients[0])[c], product, a.accumulate);
      put(floats(a.gradients[1])[c], sum, a.accumulate);
    }
  }

 private:
  struct GradientSums {
    double sum, product;  // of dy, and of dy x'
  };

  template <class Visit>
  void for_each(std::int64_t channel, Visit visit) const {
    for (std::int64_t n = 0; n < problem_.samples; ++n)
      for (std::int64_t i = 0; i < inner_; ++i) visit((n * channels_ + channel) * inner_ + i);
  }

  double scale_of(double variance) const { return 1 / std::sqrt(variance + spec_.eps); }

  Statistics statistics(const ForwardArguments& a, std::int64_t c) const {
    float &running_mean = floats(a.buffers[0])[c], &running_var = floats(a.buffers[1])[c];
    if (problem_.mode == Mode::Evaluate) return {running_mean, scale_of(running_var)};
    const float* x = floats(a.inputs[0]);
    const double count = static_cast<double>(count_);
    double sum = 0, squares = 0;
    for_each(c, [&](std::int64_t i) { sum += x[i]; });
    const double mean = sum / count;
    for_each(c, [&](std::int64_t i) { squares += (x[i] - mean) * (x[i] - mean); });
    // A single value has no unbiased variance; its 0 is used.
    const double unbiased = squares / std::max(count - 1, 1.0), m = a.again ? 0 : spec_.momentum;
    running_mean = static_cast<float>((1 - m) * running_mean + m * mean);
    running_var = static_cast<float>((1 - m) * running_var + m * unbiased);
    return static_cast<Statistics*>(a.saved)[c] = {mean, scale_of(squares / count)};
  }

  GradientSums gradient_sums(const float* x, const float* dy, const void* saved,
                             std::int64_t c) const {
    const auto [mean, scale] = static_cast<const Statistics*>(saved)[c];
    GradientSums sums{0, 0};
    for_each(c, [&, mean = mean, scale = scale](std::int64_t i) {
      sums.sum += dy[i];
      sums.product += dy[i] * (x[i] - mean) * scale;
    });
    return sums;
  }

  BatchNorm spec_;
  std::int64_t channels_, inner_, count_;  // count_: values per channel
};

}  // namespace

std::unique_ptr<Kernel> make_kernel(const BatchNorm& spec, Problem problem) {
  return std::make_unique<BatchNormKernel>(spec, std::move(problem));
}

}  // namespace pipetrain::reference
