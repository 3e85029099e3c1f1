// [C, H, W] -> [C H W]. Free if the readers take the image as it is stored (lowering.cpp);
// otherwise restores the plain order.
#include "backend/cpu/identity.hpp"

namespace pipetrain::cpu {
namespace {

template <class E>
class FlattenKernel final : public CpuKernel {
 public:
  explicit FlattenKernel(Problem problem) : CpuKernel(std::move(problem)) {}

  void forward(const ForwardArguments& a) override {
    to_plain(problem_.inputs[0], problem_.samples, elements<E>(a.inputs[0]), elements<E>(a.output));
  }
  void backward_input(const BackwardInputArguments& a) override {
    if (!a.input_gradients[0]) return;
    to_stored(problem_.inputs[0], problem_.samples, elements<E>(a.output_gradient),
              elements<E>(a.input_gradients[0]));
  }
};

}  // namespace

std::unique_ptr<Kernel> make_kernel(const Flatten&, Problem problem) {
  const bool same_memory =
      problem.inputs[0].blocked == problem.output.blocked || problem.inputs[0].is_plain();
  if (same_memory) return make_alias(std::move(problem));
  return make_by_element<FlattenKernel>(std::move(problem));
}

}  // namespace pipetrain::cpu
