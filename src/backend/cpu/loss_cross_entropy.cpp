// Softmax and negative log-likelihood of one class per row, in f64: log(sum(exp(y))) - sum of q y,
// shifted by the largest output so that no exponential overflows. q is the class's one-hot vector,
// smoothed: 1 - s of it, with s spread over all classes. d/dy = softmax(y) - q.
#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "backend/cpu/kernel.hpp"
#include "backend/cpu/loops/vector_loops.hpp"
#include "backend/cpu/parallel.hpp"
#include "base/bytes_of.hpp"
#include "base/check.hpp"
#include "base/error.hpp"
#include "graph/loss.hpp"

namespace pipetrain::cpu {
namespace {

// In multiply-adds: for an exponential, and for a row, whose sums depend on each other.
constexpr std::int64_t kExpWork = 16, kRowWork = 4096;

struct RowResult {
  double loss;
  std::int64_t rank;
};

template <class E>
class CrossEntropy final : public LossKernel {
 public:
  CrossEntropy(const ValueLayout& output, std::int64_t samples, std::int64_t classes,
               double smoothing)
      : rows_(samples * output.elements() / classes),
        classes_(classes),
        stride_(output.elements() == classes ? output.stored_elements() : classes),
        own_(1 - smoothing),
        spread_(smoothing / static_cast<double>(classes)) {
    PIPETRAIN_CHECK(output.pixels() == 1, "cross_entropy of an image");
  }

  std::size_t scratch_bytes() const override { return bytes_of<RowResult>(rows_); }

  void forward(const LossArguments& a, LossResult* result) override {
    check_labels(a.targets);
    auto* const rows = static_cast<RowResult*>(a.scratch);
    each_row([&](std::int64_t n) {
      if (a.targets.classes[n] == kNoLabel) return;
      rows[n] = result_of(elements<E>(a.output) + n * stride_, a.targets.classes[n]);
    });
    double sum = 0;
    for (std::int64_t n = 0; n < rows_; ++n) {
      if (a.targets.classes[n] == kNoLabel) continue;
      sum += rows[n].loss;
      result->correct += rows[n].rank == 0;
      result->correct_top5 += rows[n].rank < 5;
    }
    result->sum += sum;
  }

  void backward(const LossArguments& a, double scale, void* gradient) override {
    check_labels(a.targets);
    each_row([&](std::int64_t n) {
      const E* y = elements<E>(a.output) + n * stride_;
      E* dy = elements<E>(gradient) + n * stride_;
      const std::int64_t label = a.targets.classes[n];
      if (label == kNoLabel) {
        std::fill_n(dy, stride_, E{});
        return;
      }
      const float largest = loops_.largest(y, classes_);
      const double sum = loops_.sum_of_exps(y, classes_, largest);
      loops_.exps(y, classes_, largest, static_cast<float>(scale / sum), dy);
      const double softmax = std::exp(value(y[label]) - static_cast<double>(largest)) / sum;
      if (spread_ > 0) subtract(static_cast<float>(scale * spread_), dy);
      dy[label] = from_float<E>(static_cast<float>(scale * (softmax - own_ - spread_)));
      std::fill(dy + classes_, dy + stride_, E{});
    });
  }

 private:
  static double value(E stored) { return static_cast<double>(to_float(stored)); }

  // Checked here, because a team's threads must not throw.
  void check_labels(const Targets& targets) const {
    for (std::int64_t n = 0; n < rows_; ++n)
      if (const std::int64_t label = targets.classes[n];
          label != kNoLabel && (label < 0 || label >= classes_))
        throw DataError(fmt::format(
            "a label is {}, but the model's output has {} classes (0 to {}); change the labels or "
            "the size of the last layer",
            label, classes_, classes_ - 1));
  }

  template <class Body>
  void each_row(Body body) const {
    parallel_each(rows_, rows_ * (kRowWork + kExpWork * classes_), body);
  }

  // The rank is the number of outputs that beat the label's. The first of several equals wins; if
  // the label's is a NaN, all beat it, otherwise every NaN does.
  RowResult result_of(const E* y, std::int64_t label) const {
    const float largest = loops_.largest(y, classes_), own = to_float(y[label]);
    const double sum = loops_.sum_of_exps(y, classes_, largest);
    double loss = static_cast<double>(largest) + std::log(sum) - own_ * static_cast<double>(own);
    if (spread_ > 0) loss -= spread_ * sum_of(y);
    if (std::isnan(own)) return {loss, std::max<std::int64_t>(classes_, 5)};
    return {loss, loops_.not_below(y, label, own, true) +
                      loops_.not_below(y + label, classes_ - label, own, false)};
  }

  // In f64, as several partial sums side by side, so that they fit into vectors.
  double sum_of(const E* y) const {
    constexpr std::int64_t each = 16;
    std::array<double, each> sums{};
    std::int64_t c = 0;
    for (; c + each <= classes_; c += each)
      for (std::size_t i = 0; i < each; ++i) sums[i] += value(y[c + static_cast<std::int64_t>(i)]);
    double sum = 0;
    for (; c < classes_; ++c) sum += value(y[c]);
    for (const double part : sums) sum += part;
    return sum;
  }
  void subtract(float amount, E* dy) const {
    for (std::int64_t c = 0; c < classes_; ++c) dy[c] = from_float<E>(to_float(dy[c]) - amount);
  }

  const SequenceLoops<E>& loops_ = element_loops<E>().sequences;
  std::int64_t rows_, classes_, stride_;
  double own_, spread_;  // of a smoothed label: the share of its class, and of every class
};

}  // namespace

std::unique_ptr<LossKernel> make_cross_entropy(const ValueLayout& output, std::int64_t samples,
                                               std::int64_t classes, double smoothing) {
  return with_element(output.element, [&]<class E>() -> std::unique_ptr<LossKernel> {
    return std::make_unique<CrossEntropy<E>>(output, samples, classes, smoothing);
  });
}

}  // namespace pipetrain::cpu
