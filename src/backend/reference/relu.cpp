// y = max(x, 0). The gradient passes where the output is positive, so the input need not be kept.
#include "backend/reference/kernel.hpp"

namespace pipetrain::reference {
namespace {

class ReluKernel final : public ReferenceKernel {
 public:
  explicit ReluKernel(Problem problem) : ReferenceKernel(std::move(problem)) {
    traits_.backward_input_reads_output = true;
  }

  void forward(const ForwardArguments& a) override {
    const float* x = floats(a.inputs[0]);
    for (std::int64_t i = 0; i < problem_.output_elements(); ++i)
      floats(a.output)[i] = x[i] < 0 ? 0 : x[i];  // not `x > 0 ? x : 0`, which would hide a NaN
  }

  void backward_input(const BackwardInputArguments& a) override {
    if (!a.input_gradients[0]) return;
    const float *y = floats(a.output), *dy = floats(a.output_gradient);
    for (std::int64_t i = 0; i < problem_.output_elements(); ++i)
      floats(a.input_gradients[0])[i] = y[i] > 0 ? dy[i] : 0;
  }
};

}  // namespace

std::unique_ptr<Kernel> make_kernel(const Relu&, Problem problem) {
  return std::make_unique<ReluKernel>(std::move(problem));
}

}  // namespace pipetrain::reference
