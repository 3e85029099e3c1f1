// Adds a table, the same for every sample, to each position of a sequence: y = x + table, [T, C].
// Learned: a weight. Sinusoidal (Vaswani et al. 2017, section 3.5): sin(t / 10000^(2i / C)) at 2i
// and the cosine of the same at 2i + 1.
#include <cmath>

#include "backend/reference/kernel.hpp"

namespace pipetrain::reference {
namespace {

class LearnedPositionsKernel final : public ReferenceKernel {
 public:
  explicit LearnedPositionsKernel(Problem problem) : ReferenceKernel(std::move(problem)) {
    traits_.aliases_gradient = true;
  }

  void forward(const ForwardArguments& a) override {
    const std::int64_t positions = problem_.output.elements();
    for (std::int64_t i = 0; i < problem_.output_elements(); ++i)
      floats(a.output)[i] = floats(a.inputs[0])[i] + floats(a.weights.parameters[0])[i % positions];
  }

  void backward_input(const BackwardInputArguments&) override {}

  void backward_weight(const BackwardWeightArguments& a) override {
    const std::int64_t positions = problem_.output.elements();
    for (std::int64_t i = 0; i < positions; ++i) {
      double sum = 0;
      for (std::int64_t n = 0; n < problem_.samples; ++n)
        sum += floats(a.output_gradient)[n * positions + i];
      put(floats(a.gradients[0])[i], sum, a.accumulate);
    }
    for (std::int64_t i = positions; i < problem_.parameters[0].elements(); ++i)
      put(floats(a.gradients[0])[i], 0, a.accumulate);  // rows for longer sequences
  }
};

class SinusoidalPositionsKernel final : public ReferenceKernel {
 public:
  explicit SinusoidalPositionsKernel(Problem problem) : ReferenceKernel(std::move(problem)) {
    traits_.aliases_gradient = true;
  }

  void forward(const ForwardArguments& a) override {
    const std::int64_t length = problem_.output.dims[0], width = problem_.output.dims[1];
    for (std::int64_t i = 0; i < problem_.output_elements(); ++i)
      floats(a.output)[i] =
          static_cast<float>(floats(a.inputs[0])[i] + table(i / width % length, i % width, width));
  }

  void backward_input(const BackwardInputArguments&) override {}

 private:
  static double table(std::int64_t position, std::int64_t c, std::int64_t width) {
    const double exponent = static_cast<double>(c / 2 * 2) / static_cast<double>(width);
    const double angle = static_cast<double>(position) / std::pow(10000.0, exponent);
    return c % 2 == 0 ? std::sin(angle) : std::cos(angle);
  }
};

}  // namespace

std::unique_ptr<Kernel> make_kernel(const LearnedPositions&, Problem problem) {
  return std::make_unique<LearnedPositionsKernel>(std::move(problem));
}

std::unique_ptr<Kernel> make_kernel(const SinusoidalPositions&, Problem problem) {
  return std::make_unique<SinusoidalPositionsKernel>(std::move(problem));
}

}  // namespace pipetrain::reference
