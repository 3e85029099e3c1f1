// Softmax and negative log-likelihood of one class a sample, in f64: log(sum(exp(y))) - y[class],
// shifted by the largest output so that no exponential overflows. d/dy = softmax(y) -
// onehot(class).
#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <cmath>

#include "backend/cpu/kernel.hpp"
#include "base/check.hpp"
#include "base/error.hpp"

namespace pipetrain::cpu {
namespace {

class CrossEntropy final : public LossKernel {
 public:
  CrossEntropy(const ValueLayout& output, std::int64_t samples)
      : samples_(samples), classes_(output.elements()), stride_(output.stored_elements()) {
    PIPETRAIN_CHECK(output.pixels() == 1, "cross_entropy of an image");
  }

  std::size_t scratch_bytes() const override { return 0; }

  LossResult forward(const void* output, const Targets& targets, void*) override {
    LossResult result;
    for (std::int64_t n = 0; n < samples_; ++n) {
      const float* y = floats(output) + n * stride_;
      const std::int64_t label = label_of(targets, n);
      result.sum += log_sum_exp(y) - static_cast<double>(y[label]);
      result.correct += wins(y, label);
    }
    return result;
  }

  void backward(const void* output, const Targets& targets, double scale, void* gradient,
                void*) override {
    for (std::int64_t n = 0; n < samples_; ++n) {
      const float* y = floats(output) + n * stride_;
      float* dy = floats(gradient) + n * stride_;
      const std::int64_t label = label_of(targets, n);
      const double normaliser = log_sum_exp(y);
      for (std::int64_t c = 0; c < classes_; ++c) {
        const double softmax = std::exp(static_cast<double>(y[c]) - normaliser);
        dy[c] = static_cast<float>(scale * (softmax - (c == label ? 1 : 0)));
      }
      std::fill(dy + classes_, dy + stride_, 0.0f);
    }
  }

 private:
  std::int64_t label_of(const Targets& targets, std::int64_t sample) const {
    const std::int64_t label = targets.classes[sample];
    if (label < 0 || label >= classes_)
      throw DataError(fmt::format(
          "a label is {}, but the model's output has {} classes (0 to {}); change the labels or "
          "the size of the last layer",
          label, classes_, classes_ - 1));
    return label;
  }

  double log_sum_exp(const float* y) const {
    const double largest = static_cast<double>(*std::max_element(y, y + classes_));
    double sum = 0;
    for (std::int64_t c = 0; c < classes_; ++c)
      sum += std::exp(static_cast<double>(y[c]) - largest);
    return largest + std::log(sum);
  }

  // The first of equal outputs wins; a NaN never does.
  bool wins(const float* y, std::int64_t label) const {
    for (std::int64_t c = 0; c < classes_; ++c)
      if (!(c < label ? y[label] > y[c] : y[label] >= y[c])) return false;
    return true;
  }

  std::int64_t samples_, classes_, stride_;
};

}  // namespace

std::unique_ptr<LossKernel> make_cross_entropy(const ValueLayout& output, std::int64_t samples) {
  return std::make_unique<CrossEntropy>(output, samples);
}

}  // namespace pipetrain::cpu
