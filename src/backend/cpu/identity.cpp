// Layers that change nothing: the output is the input's memory, and likewise the gradient.
#include "backend/cpu/identity.hpp"

namespace pipetrain::cpu {
namespace {

class AliasKernel final : public CpuKernel {
 public:
  explicit AliasKernel(Problem problem) : CpuKernel(std::move(problem)) {
    traits_.aliases_input = traits_.aliases_gradient = true;
  }
  void forward(const ForwardArguments&) override {}
  void backward_input(const BackwardInputArguments&) override {}
};

}  // namespace

std::unique_ptr<Kernel> make_alias(Problem problem) {
  return std::make_unique<AliasKernel>(std::move(problem));
}

std::unique_ptr<Kernel> make_kernel(const Identity&, Problem problem) {
  return make_alias(std::move(problem));
}

}  // namespace pipetrain::cpu
