// Layer normalisation of each row; sums and parameters are f32. Forward keeps the mean and 1 /
// sqrt(var + eps) of every row. The weights' gradients are summed column by column, so that no sum
// depends on the number of threads.
#include "backend/cpu/kernel.hpp"
#include "backend/cpu/loops/vector_loops.hpp"
#include "backend/cpu/parallel.hpp"
#include "base/bytes_of.hpp"
#include "graph/layer.hpp"

namespace pipetrain::cpu {
namespace {

template <class E>
class LayerNormKernel final : public CpuKernel {
 public:
  LayerNormKernel(Problem problem, const LayerNorm& spec)
      : CpuKernel(std::move(problem)),
        spec_(spec),
        width_(problem_.layer->output.dims.back()),
        rows_(problem_.output_elements() / width_) {
    traits_.backward_input_reads_inputs = traits_.backward_weight_reads_inputs = true;
    if (problem_.mode == Mode::Train) traits_.saved_bytes = bytes_of<float>(2 * rows_);
  }

  void forward(const ForwardArguments& a) override {
    const LayerNormLoop loop = loop_over(a.weights);
    float* const statistics = problem_.mode == Mode::Train ? floats(a.saved) : nullptr;
    row_ranges([&](std::int64_t row, std::int64_t count) {
      loops_.layer_norm(loop, count, elements<E>(a.inputs[0]) + row * width_,
                        elements<E>(a.output) + row * width_,
                        statistics ? statistics + 2 * row : nullptr);
    });
  }

  void backward_input(const BackwardInputArguments& a) override {
    if (!a.input_gradients[0]) return;
    const LayerNormLoop loop = loop_over(a.weights);
    row_ranges([&](std::int64_t row, std::int64_t count) {
      loops_.layer_norm_backward(loop, count, elements<E>(a.inputs[0]) + row * width_,
                                 floats(a.saved) + 2 * row,
                                 elements<E>(a.output_gradient) + row * width_,
                                 elements<E>(a.input_gradients[0]) + row * width_);
    });
  }

  void backward_weight(const BackwardWeightArguments& a) override {
    const LayerNormWeightLoop loop{.rows = rows_,
                                   .width = width_,
                                   .gamma = floats(a.gradients[0]),
                                   .beta = spec_.bias ? floats(a.gradients[1]) : nullptr,
                                   .accumulate = a.accumulate};
    column_ranges(width_, rows_, [&](std::int64_t begin, std::int64_t end) {
      loops_.layer_norm_weight(loop, elements<E>(a.inputs[0]), floats(a.saved),
                               elements<E>(a.output_gradient), begin, end);
    });
  }

 private:
  LayerNormLoop loop_over(const Weights& weights) const {
    return {.width = width_,
            .eps = static_cast<float>(spec_.eps),
            .gamma = floats(weights.parameters[0]),
            .beta = spec_.bias ? floats(weights.parameters[1]) : nullptr};
  }
  template <class Body>
  void row_ranges(Body body) const {
    parallel_ranges(rows_, 2 * kElementWork * rows_ * width_,
                    [&](std::int64_t begin, std::int64_t end) { body(begin, end - begin); });
  }

  const SequenceLoops<E>& loops_ = element_loops<E>().sequences;
  LayerNorm spec_;
  std::int64_t width_, rows_;
};

}  // namespace

std::unique_ptr<Kernel> make_kernel(const LayerNorm& spec, Problem problem) {
  return make_by_element<LayerNormKernel>(std::move(problem), spec);
}

ParameterLayout parameter_layout(const LayerNorm&, const Problem& problem, int) {
  return channel_parameter(problem.layer->output.dims.back(), 1);
}

}  // namespace pipetrain::cpu
