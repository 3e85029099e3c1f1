// Softmax and negative log-likelihood of one class per row: log(sum(exp(y))) - sum of q y, shifted
// by the largest output so that no exponential overflows. q is the class's one-hot vector,
// smoothed: 1 - s of it, with s spread over all classes. d/dy = softmax(y) - q.
#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <cmath>

#include "backend/reference/kernel.hpp"
#include "base/error.hpp"
#include "graph/loss.hpp"

namespace pipetrain::reference {
namespace {

class CrossEntropy final : public LossKernel {
 public:
  CrossEntropy(std::int64_t samples, std::int64_t classes, double smoothing)
      : samples_(samples),
        classes_(classes),
        own_(1 - smoothing),
        spread_(smoothing / static_cast<double>(classes)) {}

  std::size_t scratch_bytes() const override { return 0; }

  void forward(const LossArguments& a, LossResult* result) override {
    double sum = 0;
    for (std::int64_t n = 0; n < samples_; ++n) {
      const float* y = floats(a.output) + n * classes_;
      const std::int64_t label = label_of(a.targets, n);
      if (label == kNoLabel) continue;
      sum += log_sum_exp(y) - own_ * y[label];
      for (std::int64_t c = 0; spread_ > 0 && c < classes_; ++c) sum -= spread_ * y[c];
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
      float* const dy = floats(gradient) + n * classes_;
      if (label == kNoLabel) {
        std::fill_n(dy, classes_, 0.0f);
        continue;
      }
      const double normaliser = log_sum_exp(y);
      for (std::int64_t c = 0; c < classes_; ++c) {
        const double softmax = std::exp(y[c] - normaliser);
        dy[c] = static_cast<float>(scale * (softmax - (c == label ? own_ : 0) - spread_));
      }
    }
  }

 private:
  std::int64_t label_of(const Targets& targets, std::int64_t sample) const {
    const std::int64_t label = targets.classes[sample];
    if (label != kNoLabel && (label < 0 || label >= classes_))
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

  // The number of outputs that beat the label's. The first of several equals wins; if the label's
  // is a NaN, all beat it, otherwise every NaN does.
  std::int64_t rank_of(const float* y, std::int64_t label) const {
    if (std::isnan(y[label])) return std::max<std::int64_t>(classes_, 5);
    std::int64_t rank = 0;
    for (std::int64_t c = 0; c < classes_; ++c)
      rank += !(c < label ? y[label] > y[c] : y[label] >= y[c]);
    return rank;
  }

  std::int64_t samples_, classes_;
  double own_, spread_;  // of a smoothed label: the share of its class, and of every class
};

}  // namespace

std::unique_ptr<LossKernel> make_cross_entropy(std::int64_t samples, std::int64_t classes,
                                               double smoothing) {
  return std::make_unique<CrossEntropy>(samples, classes, smoothing);
}

}  // namespace pipetrain::reference
