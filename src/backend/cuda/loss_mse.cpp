// Squared difference, averaged over a sample's elements and summed over samples, in f64.
//
//   scratch   partial sums | target values
#include "backend/cuda/device/loss.hpp"
#include "backend/cuda/kernel.hpp"
#include "base/bytes_of.hpp"

namespace pipetrain::cuda {
namespace {

class Mse final : public LossKernel {
 public:
  Mse(std::int64_t samples, std::int64_t elements) : samples_(samples), elements_(elements) {}

  std::size_t scratch_bytes() const override { return partials_bytes() + targets_bytes(); }

  void forward(const LossArguments& a, LossResult* result) override {
    const MseInput in = take(a);
    mse(device(a.stream).handle(), in, a.scratch,
        {&result->sum, &result->correct, &result->correct_top5});
  }

  void backward(const LossArguments& a, double scale, void* gradient) override {
    const MseInput in = take(a);
    mse_gradient(device(a.stream).handle(), in, scale, floats(gradient));
  }

 private:
  std::size_t partials_bytes() const {
    return mse_partials_bytes({samples_, elements_, nullptr, nullptr});
  }
  std::size_t targets_bytes() const { return bytes_of<float>(samples_ * elements_); }

  MseInput take(const LossArguments& a) const {
    auto* const targets = static_cast<std::byte*>(a.scratch) + partials_bytes();
    a.stream->write(targets, a.targets.values, targets_bytes());
    return {.samples = samples_,
            .elements = elements_,
            .y = floats(a.output),
            .targets = reinterpret_cast<const float*>(targets)};
  }

  std::int64_t samples_, elements_;  // elements: per sample
};

}  // namespace

std::unique_ptr<LossKernel> make_mse(std::int64_t samples, std::int64_t elements) {
  return std::make_unique<Mse>(samples, elements);
}

}  // namespace pipetrain::cuda
