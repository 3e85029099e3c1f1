// y = x + a table [T, C] that all samples share: either a weight, which may have more than T rows,
// or sines and cosines, which all kernels of the backend share.
#include <algorithm>

#include "backend/cpu/kernel.hpp"
#include "backend/cpu/loops/vector_loops.hpp"
#include "backend/cpu/parallel.hpp"
#include "backend/cpu/sinusoids.hpp"
#include "base/check.hpp"
#include "graph/layer.hpp"

namespace pipetrain::cpu {
namespace {

template <class E>
class PositionsKernel final : public CpuKernel {
 public:
  // `sinusoids` has no rows if the table is a weight.
  PositionsKernel(Problem problem, const SinusoidTable& sinusoids)
      : CpuKernel(std::move(problem)), sinusoids_(sinusoids) {
    traits_.aliases_gradient = true;
  }

  void forward(const ForwardArguments& a) override {
    const bool is_weight = sinusoids_.parts.empty();
    const std::int64_t length = problem_.layer->output.dims[0],
                       width = problem_.layer->output.dims[1];
    parallel_each(problem_.samples * length, kElementWork * problem_.output_elements(),
                  [&](std::int64_t row) {
                    const std::int64_t t = row % length;
                    loops_.add_table(
                        elements<E>(a.inputs[0]) + row * width,
                        is_weight ? floats(a.weights.parameters[0]) + t * width : sinusoids_.row(t),
                        elements<E>(a.output) + row * width, width);
                  });
  }

  void backward_input(const BackwardInputArguments&) override {}

  void backward_weight(const BackwardWeightArguments& a) override {
    if (a.gradients.empty()) return;
    const std::int64_t positions = problem_.output.elements();
    column_ranges(positions, problem_.samples, [&](std::int64_t begin, std::int64_t end) {
      loops_.column_sums(elements<E>(a.output_gradient), problem_.samples, positions,
                         floats(a.gradients[0]), a.accumulate, begin, end);
    });
    const std::int64_t all = problem_.layer->parameters[0].shape.elements();
    if (!a.accumulate) std::fill_n(floats(a.gradients[0]) + positions, all - positions, 0.0f);
  }

 private:
  const SequenceLoops<E>& loops_ = element_loops<E>().sequences;
  SinusoidTable sinusoids_;
};

}  // namespace

std::unique_ptr<Kernel> make_kernel(const LearnedPositions&, Problem problem) {
  return make_by_element<PositionsKernel>(std::move(problem), SinusoidTable());
}

std::unique_ptr<Kernel> make_kernel(const SinusoidalPositions&, Problem problem) {
  PIPETRAIN_CHECK(problem.sinusoids, "layer {} was lowered by no backend", problem.layer->name);
  const std::vector<std::int64_t>& dims = problem.layer->output.dims;
  const SinusoidTable table = problem.sinusoids->table(dims[0], dims[1]);
  return make_by_element<PositionsKernel>(std::move(problem), table);
}

ParameterLayout parameter_layout(const LearnedPositions&, const Problem& problem, int) {
  return channel_parameter(problem.layer->parameters[0].shape.elements(), 1);
}

}  // namespace pipetrain::cpu
