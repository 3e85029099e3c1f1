// Softmax and negative log-likelihood of a class per sample: log(sum(exp(y))) - y[class], shifted
// by the largest output so that no exponential overflows. d/dy = softmax(y) - onehot(class).
#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <cmath>

#include "backend/reference/kernel.hpp"
#include "base/error.hpp"

namespace pipetrain::reference {
namespace {

class CrossEntropy final : public LossKernel {
 public:
  CrossEntropy(std::int64_t samples, std::int64_t classes) : samples_(samples), classes_(classes) {}

  std::size_t scratch_bytes() const override { return 0; }

  void forward(const LossArguments& a, LossResult* result) override {
    double sum = 0;
    for (std::int64_t n = 0; n < samples_; ++n) {
      const float* y = floats(a.output) + n * classes_;
      const std::int64_t label = label_of(a.targets, n);
      sum += log_sum_exp(y) - y[label];
      const std::int64_t rank = rank_of(y, label);
      result->correct += rank == 0;
      result->correct_top5 += rank < 5;
    }
    result->sum += sum;
  }

  void backward(const LossArguments& a, double scale, void* gradient) override {
    for (std::int64_t n = 0; n < samples_; ++n) {
      const float* y = floats(a.output) + n * classes_;
      const std::int64_t label = label_of(a.targets, n);
      const double normaliser = log_sum_exp(y);
      for (std::int64_t c = 0; c < classes_; ++c) {
        const double softmax = std::exp(y[c] - normaliser);
        floats(gradient)[n * classes_ + c] =
            static_cast<float>(scale * (softmax - (c == label ? 1 : 0)));
      }
    }
  }

 private:
  std::int64_t label_of(const Targets& targets, std::int64_t sample) const {
    const std::int64_t label = targets.classes[sample];
    if (label < 0 || label >= classes_)
      throw DataError(
          fmt::format("a label is {}, but the model's output has {} classes (0 to {}); change the "
                      "labels or the "
                      "size of the last layer",
                      label, classes_, classes_ - 1));
    return label;
  }

  double log_sum_exp(const float* y) const {
    const double largest = *std::max_element(y, y + classes_);
    double sum = 0;
    for (std::int64_t c = 0; c < classes_; ++c) sum += std::exp(y[c] - largest);
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

  std::int64_t samples_, classes_;
};

}  // namespace

std::unique_ptr<LossKernel> make_cross_entropy(std::int64_t samples, std::int64_t classes) {
  return std::make_unique<CrossEntropy>(samples, classes);
}

}  // namespace pipetrain::reference
