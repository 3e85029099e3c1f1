// Softmax and negative log-likelihood of one class per row, in f64: log(sum(exp(y))) - sum of q y,
// shifted by the largest output so that no exponential overflows. q is the class's one-hot vector,
// smoothed: 1 - s of it, with s spread over all classes. d/dy = softmax(y) - q. Labels are checked
// on the host, before any work is enqueued.
//
//   scratch   partial sums | labels
#include <spdlog/fmt/fmt.h>

#include "backend/cuda/device/loss.hpp"
#include "backend/cuda/kernel.hpp"
#include "base/error.hpp"
#include "graph/loss.hpp"

namespace pipetrain::cuda {
namespace {

class CrossEntropy final : public LossKernel {
 public:
  CrossEntropy(std::int64_t samples, std::int64_t classes, double smoothing)
      : samples_(samples), classes_(classes), smoothing_(smoothing) {}

  std::size_t scratch_bytes() const override { return partials_bytes() + labels_bytes(); }

  void forward(const LossArguments& a, LossResult* result) override {
    const CrossEntropyInput in = take(a);
    cross_entropy(device(a.stream).handle(), in, a.scratch,
                  {&result->sum, &result->correct, &result->correct_top5});
  }

  void backward(const LossArguments& a, double scale, void* gradient) override {
    const CrossEntropyInput in = take(a);
    cross_entropy_gradient(device(a.stream).handle(), in, scale, floats(gradient));
  }

 private:
  std::size_t partials_bytes() const { return cross_entropy_partials_bytes(samples_); }
  std::size_t labels_bytes() const {
    return static_cast<std::size_t>(samples_) * sizeof(std::int32_t);
  }

  CrossEntropyInput take(const LossArguments& a) const {
    check_labels(a.targets);
    auto* const labels = static_cast<std::byte*>(a.scratch) + partials_bytes();
    a.stream->write(labels, a.targets.classes, labels_bytes());
    return {.samples = samples_,
            .classes = classes_,
            .y = floats(a.output),
            .labels = reinterpret_cast<const std::int32_t*>(labels),
            .own = 1 - smoothing_,
            .spread = smoothing_ / static_cast<double>(classes_)};
  }

  void check_labels(const Targets& targets) const {
    for (std::int64_t n = 0; n < samples_; ++n)
      if (const std::int64_t label = targets.classes[n];
          label != kNoLabel && (label < 0 || label >= classes_))
        throw DataError(fmt::format(
            "a label is {}, but the model's output has {} classes (0 to {}); change the labels or "
            "the size of the last layer",
            label, classes_, classes_ - 1));
  }

  std::int64_t samples_, classes_;
  double smoothing_;
};

}  // namespace

std::unique_ptr<LossKernel> make_cross_entropy(std::int64_t samples, std::int64_t classes,
                                               double smoothing) {
  return std::make_unique<CrossEntropy>(samples, classes, smoothing);
}

}  // namespace pipetrain::cuda
