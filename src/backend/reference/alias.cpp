// flatten and identity: in the plain layout the output is the input, and so are the gradients.
#include "backend/reference/kernel.hpp"

namespace pipetrain::reference {
namespace {

class AliasKernel final : public ReferenceKernel {
 public:
  explicit AliasKernel(Problem problem) : ReferenceKernel(std::move(problem)) {
    traits_.aliases_input = traits_.aliases_gradient = true;
  }
  void forward(const ForwardArguments&) override {}
  void backward_input(const BackwardInputArguments&) override {}
};

}  // namespace

std::unique_ptr<Kernel> make_kernel(const Flatten&, Problem problem) {
  return std::make_unique<AliasKernel>(std::move(problem));
}

std::unique_ptr<Kernel> make_kernel(const Identity&, Problem problem) {
  return std::make_unique<AliasKernel>(std::move(problem));
}

}  // namespace pipetrain::reference
