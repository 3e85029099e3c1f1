// Squared difference, averaged over a sample's elements and summed over samples.
#include "backend/reference/kernel.hpp"

namespace pipetrain::reference {
namespace {

class Mse final : public LossKernel {
 public:
  Mse(std::int64_t samples, std::int64_t elements) : samples_(samples), elements_(elements) {}

  std::size_t scratch_bytes() const override { return 0; }

  void forward(const LossArguments& a, LossResult* result) override {
    double squares = 0;
    for (std::int64_t i = 0; i < samples_ * elements_; ++i) {
      const double difference = double{floats(a.output)[i]} - a.targets.values[i];
      squares += difference * difference;
    }
    result->sum += squares / static_cast<double>(elements_);
  }

  void backward(const LossArguments& a, double scale, void* gradient) override {
    const double factor = 2 * scale / static_cast<double>(elements_);
    for (std::int64_t i = 0; i < samples_ * elements_; ++i)
      floats(gradient)[i] =
          static_cast<float>(factor * (double{floats(a.output)[i]} - a.targets.values[i]));
  }

 private:
  std::int64_t samples_, elements_;  // elements: per sample
};

}  // namespace

std::unique_ptr<LossKernel> make_mse(std::int64_t samples, std::int64_t elements) {
  return std::make_unique<Mse>(samples, elements);
}

}  // namespace pipetrain::reference
