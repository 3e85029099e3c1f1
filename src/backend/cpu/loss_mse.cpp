// Squared difference, averaged over a sample's elements and summed over samples, in f64.
#include <algorithm>

#include "backend/cpu/kernel.hpp"

namespace pipetrain::cpu {
namespace {

template <class E>
class Mse final : public LossKernel {
 public:
  Mse(const ValueLayout& output, std::int64_t samples) : layout_(output), samples_(samples) {}

  std::size_t scratch_bytes() const override { return 0; }

  void forward(const LossArguments& a, LossResult* result) override {
    double squares = 0;
    each_element([&](std::int64_t stored, std::int64_t plain) {
      const double d = difference(a, stored, plain);
      squares += d * d;
    });
    result->sum += squares / static_cast<double>(layout_.elements());
  }

  void backward(const LossArguments& a, double scale, void* gradient) override {
    std::fill_n(elements<E>(gradient), samples_ * layout_.stored_elements(), E{});
    const double factor = 2 * scale / static_cast<double>(layout_.elements());
    each_element([&](std::int64_t stored, std::int64_t plain) {
      elements<E>(gradient)[stored] =
          from_float<E>(static_cast<float>(factor * difference(a, stored, plain)));
    });
  }

 private:
  static double difference(const LossArguments& a, std::int64_t stored, std::int64_t plain) {
    return static_cast<double>(to_float(elements<E>(a.output)[stored])) -
           static_cast<double>(a.targets.values[plain]);
  }

  template <class Visit>
  void each_element(Visit visit) const {
    for (std::int64_t n = 0; n < samples_; ++n)
      for (std::int64_t i = 0; i < layout_.elements(); ++i)
        visit(n * layout_.stored_elements() + layout_.position(i), n * layout_.elements() + i);
  }

  ValueLayout layout_;
  std::int64_t samples_;
};

}  // namespace

std::unique_ptr<LossKernel> make_mse(const ValueLayout& output, std::int64_t samples) {
  return with_element(output.element, [&]<class E>() -> std::unique_ptr<LossKernel> {
    return std::make_unique<Mse<E>>(output, samples);
  });
}

}  // namespace pipetrain::cpu
