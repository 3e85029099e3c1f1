// Three products: y = x W + b and dx = dy W^T by oneDNN, dW (+)= x^T dy as rows_weight.hpp says. W
// is stored with its longer side first, which makes dW cheapest (by a tenth at 256 x 1024), or as
// PyTorch does if another layer uses it too.
#include "backend/cpu/linear/linear_rows.hpp"

#include <algorithm>

#include "backend/cpu/linear/matmul.hpp"
#include "backend/cpu/linear/rows_weight.hpp"
#include "backend/cpu/loops/vector_loops.hpp"
#include "backend/cpu/parallel.hpp"
#include "graph/layer.hpp"

namespace pipetrain::cpu {
namespace {

// [out][in], as PyTorch stores it.
bool is_plain(const Problem& problem, std::int64_t in, std::int64_t out) {
  return problem.plain_weights || out > in;
}

class LinearRowsKernel final : public CpuKernel {
 public:
  LinearRowsKernel(const Linear& spec, Problem problem)
      : CpuKernel(std::move(problem)),
        spec_(spec),
        in_(problem_.layer->parameters[0].shape.dims[1]),
        out_(spec.out_features),
        rows_(problem_.output_elements() / out_),
        plain_(is_plain(problem_, in_, out_)) {
    traits_.backward_weight_reads_inputs = true;
    prepare();
  }

  void forward(const ForwardArguments& a) override {
    forward_(name(), {.left = a.inputs[0],
                      .right = a.weights.parameters[0],
                      .bias = spec_.bias ? a.weights.parameters[1] : nullptr,
                      .result = a.output,
                      .scratch = a.scratch});
  }

  void backward_input(const BackwardInputArguments& a) override {
    if (!a.input_gradients[0]) return;
    backward_input_(name(), {.left = a.output_gradient,
                             .right = a.weights.parameters[0],
                             .result = a.input_gradients[0],
                             .scratch = a.scratch});
  }

  void backward_weight(const BackwardWeightArguments& a) override {
    const void *x = a.inputs[0], *dy = a.output_gradient;
    weight_(name(), plain_ ? dy : x, plain_ ? x : dy, a.gradients[0], a.accumulate, a.scratch);
    if (!spec_.bias) return;
    column_ranges(out_, rows_, [&](std::int64_t begin, std::int64_t end) {
      loops_.column_sums(floats(a.output_gradient), rows_, out_, floats(a.gradients[1]),
                         a.accumulate, begin, end);
    });
  }

 private:
  const std::string& name() const { return problem_.layer->name; }

  void prepare() {
    const Matrix x{rows_, in_}, w{in_, out_, plain_}, dy{rows_, out_}, w_turned{out_, in_, !plain_};
    forward_ = MatrixProduct(name(), x, w, Element::F32, {.with_bias = spec_.bias});
    traits_.scratch_bytes = forward_.scratch_bytes();
    if (problem_.mode != Mode::Train) return;
    backward_input_ = MatrixProduct(name(), dy, w_turned, Element::F32);
    weight_ = plain_ ? RowsWeight(name(), rows_, out_, in_) : RowsWeight(name(), rows_, in_, out_);
    traits_.scratch_bytes =
        std::max({traits_.scratch_bytes, backward_input_.scratch_bytes(), weight_.scratch_bytes()});
  }

  const SequenceLoops<float>& loops_ = element_loops<float>().sequences;
  Linear spec_;
  std::int64_t in_, out_, rows_;
  bool plain_;
  MatrixProduct forward_, backward_input_;
  RowsWeight weight_;
};

}  // namespace

bool is_over_rows(const Problem& problem) {
  return problem.layer->output.dims.size() == 2 || problem.plain_weights;
}

std::unique_ptr<Kernel> make_linear_rows(const Linear& spec, Problem problem) {
  return std::make_unique<LinearRowsKernel>(spec, std::move(problem));
}

ParameterLayout linear_rows_layout(const Linear& spec, const Problem& problem, int parameter) {
  const std::int64_t in = problem.layer->parameters[0].shape.dims[1], out = spec.out_features;
  if (parameter == 1) return channel_parameter(out, 1);
  if (is_plain(problem, in, out)) return channel_parameter(in * out, 1);
  return {.elements = in * out,
          .position = [in, out](std::int64_t index) { return index % in * out + index / in; }};
}

}  // namespace pipetrain::cpu
