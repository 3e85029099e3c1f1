// Three products by oneDNN: y = x W + b, dx = dy W^T, dW (+)= x^T dy; the library itself does the
// accumulation. W is stored with its longer side first, which makes dW cheapest (by a tenth at 256
// x 1024), or as PyTorch does if another layer uses it too.
#include "backend/cpu/linear/linear_rows.hpp"

#include <algorithm>

#include "backend/cpu/linear/matmul.hpp"
#include "backend/cpu/loops/vector_loops.hpp"
#include "backend/cpu/parallel.hpp"
#include "graph/layer.hpp"

namespace pipetrain::cpu {
namespace {

// c = a b + bias, or c += a b.
PreparedCall product(const std::string& layer, const Matrix& a, const Matrix& b, bool bias,
                     bool accumulate) {
  const Matrix c{a.rows, b.columns}, row{1, b.columns};
  return matmul(layer, a.layout(), b.layout(), bias ? std::optional(row.layout()) : std::nullopt,
                c.layout(), {.accumulates = accumulate});
}

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
    const void *x = a.inputs[0], *w = a.weights.parameters[0];
    if (spec_.bias)
      forward_(name(), {x, w, a.weights.parameters[1], a.output, a.scratch});
    else
      forward_(name(), {x, w, a.output, a.scratch});
  }

  void backward_input(const BackwardInputArguments& a) override {
    if (!a.input_gradients[0]) return;
    backward_input_(name(),
                    {a.output_gradient, a.weights.parameters[0], a.input_gradients[0], a.scratch});
  }

  void backward_weight(const BackwardWeightArguments& a) override {
    PreparedCall& call = a.accumulate ? add_to_gradient_ : make_gradient_;
    if (plain_)
      call(name(), {a.output_gradient, a.inputs[0], a.gradients[0], a.scratch});
    else
      call(name(), {a.inputs[0], a.output_gradient, a.gradients[0], a.scratch});
    if (!spec_.bias) return;
    column_ranges(out_, rows_, [&](std::int64_t begin, std::int64_t end) {
      loops_.column_sums(floats(a.output_gradient), rows_, out_, floats(a.gradients[1]),
                         a.accumulate, begin, end);
    });
  }

 private:
  const std::string& name() const { return problem_.layer->name; }

  void prepare() {
    const Matrix x{rows_, in_}, w{in_, out_, plain_}, dy{rows_, out_};
    forward_ = product(name(), x, w, spec_.bias, false);
    traits_.scratch_bytes = forward_.scratchpad_bytes();
    if (problem_.mode != Mode::Train) return;
    const Matrix x_turned{in_, rows_, true}, dy_turned{out_, rows_, true},
        w_turned{out_, in_, !plain_};
    backward_input_ = product(name(), dy, w_turned, false, false);
    const auto gradient = [&](bool accumulate) {
      return plain_ ? product(name(), dy_turned, x, false, accumulate)
                    : product(name(), x_turned, dy, false, accumulate);
    };
    make_gradient_ = gradient(false);
    add_to_gradient_ = gradient(true);
    for (const PreparedCall* call : {&backward_input_, &make_gradient_, &add_to_gradient_})
      traits_.scratch_bytes = std::max(traits_.scratch_bytes, call->scratchpad_bytes());
  }

  const SequenceLoops<float>& loops_ = element_loops<float>().sequences;
  Linear spec_;
  std::int64_t in_, out_, rows_;
  bool plain_;
  PreparedCall forward_, backward_input_, make_gradient_, add_to_gradient_;
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
