// The sum of any number of values, in their order, with a ReLU if one alone reads it. The gradient
// of every input is the output's.
#include "backend/cuda/device/elementwise.hpp"
#include "backend/cuda/kernel.hpp"

namespace pipetrain::cuda {
namespace {

class AddKernel final : public CudaKernel {
 public:
  explicit AddKernel(Problem problem) : CudaKernel(std::move(problem)) {
    traits_.aliases_gradient = true;
    traits_.aliases_input = problem_.inputs.size() == 1 && !problem_.with_relu;
  }

  void forward(const ForwardArguments& a) override {
    if (traits_.aliases_input) return;
    std::vector<const float*> terms;
    for (const void* const input : a.inputs) terms.push_back(floats(input));
    sum(device(a.stream).handle(), terms, floats(a.output), problem_.output_elements(),
        problem_.with_relu);
  }

  void backward_input(const BackwardInputArguments&) override {}
};

}  // namespace

std::unique_ptr<Kernel> make_kernel(const Add&, Problem problem) {
  return std::make_unique<AddKernel>(std::move(problem));
}

}  // namespace pipetrain::cuda
