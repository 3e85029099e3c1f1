// Softmax and negative log-likelihood of one class a sample, in f64: log(sum(exp(y))) - y[class],
// shifted by the largest output so that no exponential overflows. d/dy = softmax(y) -
// onehot(class).
#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <cmath>

#include "backend/cpu/kernel.hpp"
#include "backend/cpu/parallel.hpp"
#include "base/check.hpp"
#include "base/error.hpp"

namespace pipetrain::cpu {
namespace {

constexpr std::int64_t kExpWork = 128;  // of an exponential, in multiply-adds

class CrossEntropy final : public LossKernel {
 public:
  CrossEntropy(const ValueLayout& output, std::int64_t samples, std::int64_t classes)
      : samples_(samples * output.elements() / classes),
        classes_(classes),
        stride_(output.elements() == classes ? output.stored_elements() : classes) {
    PIPETRAIN_CHECK(output.pixels() == 1, "cross_entropy of an image");
  }

  std::size_t scratch_bytes() const override {
    return static_cast<std::size_t>(samples_) * sizeof(double);
  }

  void forward(const LossArguments& a, LossResult* result) override {
    check_labels(a.targets);
    auto* const normalisers = static_cast<double*>(a.scratch);
    each_sample(
        [&](std::int64_t n) { normalisers[n] = log_sum_exp(floats(a.output) + n * stride_); });
    double sum = 0;
    for (std::int64_t n = 0; n < samples_; ++n) {
      const float* y = floats(a.output) + n * stride_;
      const std::int64_t label = a.targets.classes[n];
      sum += normalisers[n] - static_cast<double>(y[label]);
      const std::int64_t rank = rank_of(y, label);
      result->correct += rank == 0;
      result->correct_top5 += rank < 5;
    }
    result->sum += sum;
  }

  void backward(const LossArguments& a, double scale, void* gradient) override {
    check_labels(a.targets);
    each_sample([&](std::int64_t n) {
      const float* y = floats(a.output) + n * stride_;
      float* dy = floats(gradient) + n * stride_;
      const double normaliser = log_sum_exp(y);
      for (std::int64_t c = 0; c < classes_; ++c) {
        const double softmax = std::exp(static_cast<double>(y[c]) - normaliser);
        dy[c] = static_cast<float>(scale * (softmax - (c == a.targets.classes[n] ? 1 : 0)));
      }
      std::fill(dy + classes_, dy + stride_, 0.0f);
    });
  }

 private:
  // Here, because a team's threads must not throw.
  void check_labels(const Targets& targets) const {
    for (std::int64_t n = 0; n < samples_; ++n)
      if (const std::int64_t label = targets.classes[n]; label < 0 || label >= classes_)
        throw DataError(fmt::format(
            "a label is {}, but the model's output has {} classes (0 to {}); change the labels or "
            "the size of the last layer",
            label, classes_, classes_ - 1));
  }

  template <class Body>
  void each_sample(Body body) const {
    parallel_each(samples_, kExpWork * samples_ * classes_, body);
  }

  double log_sum_exp(const float* y) const {
    const double largest = static_cast<double>(*std::max_element(y, y + classes_));
    double sum = 0;
    for (std::int64_t c = 0; c < classes_; ++c)
      sum += std::exp(static_cast<double>(y[c]) - largest);
    return largest + std::log(sum);
  }

  // How many outputs the label's loses against. The first of equal ones wins; a NaN loses against
  // all, and nothing wins against one.
  std::int64_t rank_of(const float* y, std::int64_t label) const {
    if (std::isnan(y[label])) return std::max<std::int64_t>(classes_, 5);
    std::int64_t rank = 0;
    for (std::int64_t c = 0; c < classes_; ++c)
      rank += !(c < label ? y[label] > y[c] : y[label] >= y[c]);
    return rank;
  }

  std::int64_t samples_;  // labels: one a row of outputs
  std::int64_t classes_, stride_;
};

}  // namespace

std::unique_ptr<LossKernel> make_cross_entropy(const ValueLayout& output, std::int64_t samples,
                                               std::int64_t classes) {
  return std::make_unique<CrossEntropy>(output, samples, classes);
}

}  // namespace pipetrain::cpu
