// The elementwise layers: each is a function of one number, and its slope.
#include <cmath>
#include <numbers>

#include "backend/reference/kernel.hpp"

namespace pipetrain::reference {
namespace {

struct Point {
  double value, slope;
};

// The Gaussian error linear unit (Hendrycks and Gimpel, 2016): x Phi(x), where Phi is the normal
// distribution's (1 + erf(x / sqrt(2))) / 2, or its approximation (1 + tanh(sqrt(2 / pi) (x +
// 0.044715 x^3))) / 2.
Point gelu_exact(double x) {
  const double distribution = 0.5 * std::erfc(-x / std::numbers::sqrt2);
  const double density = std::exp(-0.5 * x * x) * std::numbers::inv_sqrtpi / std::numbers::sqrt2;
  return {x * distribution, distribution + x * density};
}

Point gelu_by_tanh(double x) {
  constexpr double cubic = 0.044715;
  const double root = std::numbers::sqrt2 * std::numbers::inv_sqrtpi;  // sqrt(2 / pi)
  const double t = std::tanh(root * (x + cubic * x * x * x));
  const double inner_slope = root * (1 + 3 * cubic * x * x);
  return {0.5 * x * (1 + t), 0.5 * (1 + t) + 0.5 * x * (1 - t * t) * inner_slope};
}

Point point_of(const Gelu& spec, double x) { return spec.tanh ? gelu_by_tanh(x) : gelu_exact(x); }

class ElementwiseKernel final : public ReferenceKernel {
 public:
  ElementwiseKernel(const ElementwiseSpec& spec, Problem problem)
      : ReferenceKernel(std::move(problem)), spec_(spec) {
    traits_.backward_input_reads_inputs = true;
  }

  void forward(const ForwardArguments& a) override {
    for (std::int64_t i = 0; i < problem_.output_elements(); ++i)
      floats(a.output)[i] = static_cast<float>(point(floats(a.inputs[0])[i]).value);
  }

  void backward_input(const BackwardInputArguments& a) override {
    if (!a.input_gradients[0]) return;
    for (std::int64_t i = 0; i < problem_.output_elements(); ++i)
      floats(a.input_gradients[0])[i] =
          static_cast<float>(floats(a.output_gradient)[i] * point(floats(a.inputs[0])[i]).slope);
  }

 private:
  Point point(double x) const {
    return std::visit([x](const auto& spec) { return point_of(spec, x); }, spec_);
  }

  ElementwiseSpec spec_;
};

}  // namespace

std::unique_ptr<Kernel> make_kernel(const ElementwiseSpec& spec, Problem problem) {
  return std::make_unique<ElementwiseKernel>(spec, std::move(problem));
}

}  // namespace pipetrain::reference
