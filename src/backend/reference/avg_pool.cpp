// The mean of each window; padding counts as zeros, so the divisor is the kernel's area everywhere.
#include <algorithm>

#include "backend/reference/kernel.hpp"
#include "backend/reference/pool_windows.hpp"

namespace pipetrain::reference {
namespace {

class AvgPoolKernel final : public ReferenceKernel {
 public:
  AvgPoolKernel(const AvgPool& spec, Problem problem)
      : ReferenceKernel(std::move(problem)),
        spec_(spec),
        in_(problem_.inputs[0]),
        out_(problem_.output),
        share_(1.0f / static_cast<float>(spec.kernel[0] * spec.kernel[1])) {}

  void forward(const ForwardArguments& a) override {
    const float* x = floats(a.inputs[0]);
    float* y = floats(a.output);
    std::fill_n(y, problem_.output_elements(), 0.0f);
    for_each_tap(spec_, problem_.samples, in_, out_,
                 [&](std::int64_t o, std::int64_t i) { y[o] += share_ * x[i]; });
  }

  void backward_input(const BackwardInputArguments& a) override {
    if (!a.input_gradients[0]) return;
    const float* dy = floats(a.output_gradient);
    float* dx = floats(a.input_gradients[0]);
    std::fill_n(dx, problem_.input_elements(), 0.0f);
    for_each_tap(spec_, problem_.samples, in_, out_,
                 [&](std::int64_t o, std::int64_t i) { dx[i] += share_ * dy[o]; });
  }

 private:
  AvgPool spec_;
  Images in_, out_;
  float share_;
};

}  // namespace

std::unique_ptr<Kernel> make_kernel(const AvgPool& spec, Problem problem) {
  return std::make_unique<AvgPoolKernel>(spec, std::move(problem));
}

}  // namespace pipetrain::reference
