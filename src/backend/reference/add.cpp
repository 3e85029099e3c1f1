// The sum of any number of inputs. The gradient of every input is the output's, so backward is an
// alias.
#include "backend/reference/kernel.hpp"

namespace pipetrain::reference {
namespace {

class AddKernel final : public ReferenceKernel {
 public:
  explicit AddKernel(Problem problem) : ReferenceKernel(std::move(problem)) {
    traits_.aliases_gradient = true;
  }

  void forward(const ForwardArguments& a) override {
    for (std::int64_t i = 0; i < problem_.output_elements(); ++i) {
      double sum = 0;
      for (const void* input : a.inputs) sum += floats(input)[i];
      floats(a.output)[i] = static_cast<float>(sum);
    }
  }

  void backward_input(const BackwardInputArguments&) override {}
};

}  // namespace

std::unique_ptr<Kernel> make_kernel(const Add&, Problem problem) {
  return std::make_unique<AddKernel>(std::move(problem));
}

}  // namespace pipetrain::reference
