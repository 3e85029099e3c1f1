// Adds a table, the same for every sample, to each position of a sequence: y = x + table, [T, C].
// Learned: a weight. Sinusoidal (Vaswani et al. 2017, section 3.5): made in scratch each time,
// which costs as much as one more sample. The input's gradient is the output's.
#include "backend/cuda/device/positions.hpp"

#include "backend/cuda/device/elementwise.hpp"
#include "backend/cuda/device/reduce.hpp"
#include "backend/cuda/kernel.hpp"
#include "base/bytes_of.hpp"
#include "graph/layer.hpp"

namespace pipetrain::cuda {
namespace {

class PositionsKernel : public CudaKernel {
 public:
  explicit PositionsKernel(Problem problem) : CudaKernel(std::move(problem)) {
    traits_.aliases_gradient = true;
  }
  void backward_input(const BackwardInputArguments&) final {}

 protected:
  void add_table(const ForwardArguments& a, const float* table) const {
    add_to_rows(device(a.stream).handle(), floats(a.inputs[0]), table, problem_.samples,
                problem_.output.elements(), floats(a.output));
  }
};

class LearnedPositionsKernel final : public PositionsKernel {
 public:
  using PositionsKernel::PositionsKernel;

  void forward(const ForwardArguments& a) override {
    add_table(a, floats(a.weights.parameters[0]));
  }

  void backward_weight(const BackwardWeightArguments& a) override {
    column_sums({device(a.stream).handle(), device(a.stream).partial_sums()},
                floats(a.output_gradient), problem_.samples, problem_.output.elements(),
                floats(a.gradients[0]), a.accumulate);
    const std::int64_t positions = problem_.output.elements(),
                       all = problem_.layer->parameters[0].shape.elements();
    if (!a.accumulate && all > positions)
      device(a.stream).clear(floats(a.gradients[0]) + positions, bytes_of<float>(all - positions));
  }
};

class SinusoidalPositionsKernel final : public PositionsKernel {
 public:
  explicit SinusoidalPositionsKernel(Problem problem) : PositionsKernel(std::move(problem)) {
    traits_.scratch_bytes = bytes_of<float>(problem_.output.elements());
  }

  void forward(const ForwardArguments& a) override {
    sinusoids(device(a.stream).handle(), problem_.output.dims[0], problem_.output.dims[1],
              floats(a.scratch));
    add_table(a, floats(a.scratch));
  }
};

}  // namespace

std::unique_ptr<Kernel> make_kernel(const LearnedPositions&, Problem problem) {
  return std::make_unique<LearnedPositionsKernel>(std::move(problem));
}

std::unique_ptr<Kernel> make_kernel(const SinusoidalPositions&, Problem problem) {
  return std::make_unique<SinusoidalPositionsKernel>(std::move(problem));
}

}  // namespace pipetrain::cuda
