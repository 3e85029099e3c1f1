// y = x + a table [T, C] that all samples share: either a weight, which may have more than T rows,
// or sines and cosines, computed when the kernel is made.
#include <algorithm>
#include <cmath>
#include <vector>

#include "backend/cpu/kernel.hpp"
#include "backend/cpu/loops/vector_loops.hpp"
#include "backend/cpu/parallel.hpp"
#include "graph/layer.hpp"

namespace pipetrain::cpu {
namespace {

std::vector<float> sinusoids(std::int64_t length, std::int64_t width) {
  std::vector<float> table;
  for (std::int64_t t = 0; t < length; ++t)
    for (std::int64_t c = 0; c < width; ++c) {
      const double exponent = static_cast<double>(c / 2 * 2) / static_cast<double>(width);
      const double angle = static_cast<double>(t) / std::pow(10000.0, exponent);
      table.push_back(static_cast<float>(c % 2 == 0 ? std::sin(angle) : std::cos(angle)));
    }
  return table;
}

template <class E>
class PositionsKernel final : public CpuKernel {
 public:
  // `table` is empty if it is a weight.
  PositionsKernel(Problem problem, const std::vector<float>& table)
      : CpuKernel(std::move(problem)), table_(table) {
    traits_.aliases_gradient = true;
  }

  void forward(const ForwardArguments& a) override {
    const float* const table = table_.empty() ? floats(a.weights.parameters[0]) : table_.data();
    const std::int64_t length = problem_.layer->output.dims[0],
                       width = problem_.layer->output.dims[1];
    parallel_each(problem_.samples * length, kElementWork * problem_.output_elements(),
                  [&](std::int64_t row) {
                    loops_.add_table(elements<E>(a.inputs[0]) + row * width,
                                     table + row % length * width,
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
  std::vector<float> table_;
};

}  // namespace

std::unique_ptr<Kernel> make_kernel(const LearnedPositions&, Problem problem) {
  return make_by_element<PositionsKernel>(std::move(problem), std::vector<float>());
}

std::unique_ptr<Kernel> make_kernel(const SinusoidalPositions&, Problem problem) {
  const std::vector<std::int64_t>& dims = problem.layer->output.dims;
  const std::vector<float> table = sinusoids(dims[0], dims[1]);
  return make_by_element<PositionsKernel>(std::move(problem), table);
}

ParameterLayout parameter_layout(const LearnedPositions&, const Problem& problem, int) {
  return channel_parameter(problem.layer->parameters[0].shape.elements(), 1);
}

}  // namespace pipetrain::cpu
