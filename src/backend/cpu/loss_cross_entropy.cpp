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

template <class E>
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
        [&](std::int64_t n) { normalisers[n] = log_sum_exp(elements<E>(a.output) + n * stride_); });
    double sum = 0;
    for (std::int64_t n = 0; n < samples_; ++n) {
      const E* y = elements<E>(a.output) + n * stride_;
      const std::int64_t label = a.targets.classes[n];
      sum += normalisers[n] - value(y[label]);
      const std::int64_t rank = rank_of(y, label);
      result->correct += rank == 0;
      result->correct_top5 += rank < 5;
    }
    result->sum += sum;
  }

  void backward(const LossArguments& a, double scale, void* gradient) override {
    check_labels(a.targets);
    each_sample([&](std::int64_t n) {
      const E* y = elements<E>(a.output) + n * stride_;
      E* dy = elements<E>(gradient) + n * stride_;
      const double normaliser = log_sum_exp(y);
      for (std::int64_t c = 0; c < classes_; ++c) {
        const double softmax = std::exp(value(y[c]) - normaliser);
        dy[c] = from_float<E>(
            static_cast<float>(scale * (softmax - (c == a.targets.classes[n] ? 1 : 0))));
      }
      std::fill(dy + classes_, dy + stride_, E{});
    });
  }

 private:
  static double value(E stored) { return static_cast<double>(to_float(stored)); }

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

  double log_sum_exp(const E* y) const {
    double largest = value(y[0]);
    for (std::int64_t c = 1; c < classes_; ++c) largest = std::max(largest, value(y[c]));
    double sum = 0;
    for (std::int64_t c = 0; c < classes_; ++c) sum += std::exp(value(y[c]) - largest);
    return largest + std::log(sum);
  }

  // How many outputs the label's loses against. The first of equal ones wins; a NaN loses against
  // all, and nothing wins against one.
  std::int64_t rank_of(const E* y, std::int64_t label) const {
    if (std::isnan(value(y[label]))) return std::max<std::int64_t>(classes_, 5);
    std::int64_t rank = 0;
    for (std::int64_t c = 0; c < classes_; ++c)
      rank += !(c < label ? value(y[label]) > value(y[c]) : value(y[label]) >= value(y[c]));
    return rank;
  }

  std::int64_t samples_;  // labels: one a row of outputs
  std::int64_t classes_, stride_;
};

}  // namespace

std::unique_ptr<LossKernel> make_cross_entropy(const ValueLayout& output, std::int64_t samples,
                                               std::int64_t classes) {
  return with_element(output.element, [&]<class E>() -> std::unique_ptr<LossKernel> {
    return std::make_unique<CrossEntropy<E>>(output, samples, classes);
  });
}

}  // namespace pipetrain::cpu
