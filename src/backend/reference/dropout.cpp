// In training, drops elements with probability p and scales the others by 1 / (1 - p) (Srivastava
// et al., 2014, inverted); in evaluation it is the identity. The backward draws the mask again.
#include <algorithm>
#include <array>

#include "backend/dropout_mask.hpp"
#include "backend/reference/kernel.hpp"

namespace pipetrain::reference {
namespace {

class DropoutKernel final : public ReferenceKernel {
 public:
  DropoutKernel(const Dropout& spec, Problem problem)
      : ReferenceKernel(std::move(problem)), p_(spec.p) {
    traits_.aliases_input = traits_.aliases_gradient = problem_.mode == Mode::Evaluate;
  }

  void forward(const ForwardArguments& a) override {
    if (!traits_.aliases_input) apply(floats(a.inputs[0]), floats(a.output), a.random);
  }

  void backward_input(const BackwardInputArguments& a) override {
    if (!traits_.aliases_gradient && a.input_gradients[0])
      apply(floats(a.output_gradient), floats(a.input_gradients[0]), a.random);
  }

 private:
  void apply(const float* from, float* to, const RandomKey& key) const {
    const DropoutMask mask(p_, problem_.layer, key);
    std::array<float, 256> factors;
    const std::int64_t elements = problem_.output_elements();
    for (std::int64_t first = 0; first < elements; first += std::ssize(factors)) {
      const std::int64_t count = std::min(std::ssize(factors), elements - first);
      mask.factors(first, count, factors.data());
      for (std::int64_t i = 0; i < count; ++i) to[first + i] = from[first + i] * factors[i];
    }
  }

  double p_;
};

}  // namespace

std::unique_ptr<Kernel> make_kernel(const Dropout& spec, Problem problem) {
  return std::make_unique<DropoutKernel>(spec, std::move(problem));
}

}  // namespace pipetrain::reference
