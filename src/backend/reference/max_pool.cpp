// The largest element of each window; the first of several equals wins, and padding never does.
#include <algorithm>
#include <cmath>
#include <limits>

#include "backend/reference/kernel.hpp"
#include "backend/reference/pool_windows.hpp"

namespace pipetrain::reference {
namespace {

class MaxPoolKernel final : public ReferenceKernel {
 public:
  MaxPoolKernel(const MaxPool& spec, Problem problem)
      : ReferenceKernel(std::move(problem)),
        spec_(spec),
        in_(problem_.inputs[0]),
        out_(problem_.output) {
    const std::size_t winners_bytes = problem_.output_elements() * sizeof(std::int64_t);
    (problem_.mode == Mode::Train ? traits_.saved_bytes : traits_.scratch_bytes) = winners_bytes;
  }

  void forward(const ForwardArguments& a) override {
    const float* x = floats(a.inputs[0]);
    float* y = floats(a.output);
    auto* winners = static_cast<std::int64_t*>(problem_.mode == Mode::Train ? a.saved : a.scratch);
    std::fill_n(winners, problem_.output_elements(), nobody);
    std::fill_n(y, problem_.output_elements(), -std::numeric_limits<float>::infinity());
    for_each_tap(spec_, problem_.samples, in_, out_, [&](std::int64_t o, std::int64_t i) {
      if (winners[o] != nobody && !(x[i] > y[o]) && !std::isnan(x[i])) return;
      y[o] = x[i];
      winners[o] = i;
    });
  }

  void backward_input(const BackwardInputArguments& a) override {
    if (!a.input_gradients[0]) return;
    const float* dy = floats(a.output_gradient);
    float* dx = floats(a.input_gradients[0]);
    const auto* winners = static_cast<const std::int64_t*>(a.saved);
    std::fill_n(dx, problem_.input_elements(), 0.0f);
    for (std::int64_t o = 0; o < problem_.output_elements(); ++o)
      if (winners[o] != nobody) dx[winners[o]] += dy[o];
  }

 private:
  static constexpr std::int64_t nobody = -1;  // a window of nothing but padding
  MaxPool spec_;
  Images in_, out_;
};

}  // namespace

std::unique_ptr<Kernel> make_kernel(const MaxPool& spec, Problem problem) {
  return std::make_unique<MaxPoolKernel>(spec, std::move(problem));
}

}  // namespace pipetrain::reference
