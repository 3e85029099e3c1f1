// The sum of any number of values, in their order, with a ReLU if one alone reads it. The gradient
// of every input is the output's.
#include "backend/cuda/device/elementwise.hpp"
#include "backend/cuda/kernel.hpp"

namespace pipetrain::cuda {
namespace {

class AddKernel final : public CudaKernel {
 public:
  explicit AddKernel(Problem problem)
      : CudaKernel(std::move(problem)), terms_(problem_.inputs.size()) {
    traits_.aliases_gradient = true;
    traits_.aliases_input = problem_.inputs.size() == 1 && !problem_.with_relu;
  }

  void forward(const ForwardArguments& a) override {
    if (traits_.aliases_input) return;
    for (std::size_t i = 0; i < terms_.size(); ++i) terms_[i] = floats(a.inputs[i]);
    sum(device(a.stream).handle(), terms_, floats(a.output), problem_.output_elements(),
        problem_.with_relu);
  }

  void backward_input(const BackwardInputArguments&) override {}

 private:
  std::vector<const float*> terms_;  // of the current call
};

}  // namespace

std::unique_ptr<Kernel> make_kernel(const Add&, Problem problem) {
  return std::make_unique<AddKernel>(std::move(problem));
}

}  // namespace pipetrain::cuda
