// Three matrix products by oneDNN, with a row for each vector of a sample: y = x W^T + b, dx = dy
// W, dW = dy^T x. The first two read copies of the weights in blocks, the third writes f32. For the
// model's last linear layer y and dy are f32; dy is then rounded into scratch.
#include "backend/cpu/linear/linear_bf16.hpp"

#include <algorithm>

#include "backend/cpu/linear/matmul.hpp"
#include "backend/cpu/loops/vector_loops.hpp"
#include "backend/cpu/parallel.hpp"
#include "base/bytes_of.hpp"
#include "graph/layer.hpp"

namespace pipetrain::cpu {
namespace {

struct Sizes {
  std::int64_t rows, in, out;
};

Sizes sizes_of(const Linear& spec, const Problem& problem) {
  const std::int64_t rows = problem.output.elements() / spec.out_features;  // per sample
  return {problem.samples * rows, problem.inputs[0].stored_elements() / rows, spec.out_features};
}

std::size_t bytes_packed(const Sizes& s, Pass pass) {
  return pass == Pass::Forward ? bytes_in_blocks(s.in, s.out) : bytes_in_blocks(s.out, s.in);
}

class LinearBf16Kernel final : public CpuKernel {
 public:
  LinearBf16Kernel(const Linear& spec, Problem problem)
      : CpuKernel(std::move(problem)), spec_(spec), sizes_(sizes_of(spec, problem_)) {
    traits_.backward_weight_reads_inputs = true;
    traits_.backward_input_reads_inputs = problem_.masks_input;
    prepare();
    if (problem_.mode == Mode::Train && !problem_.keeps_packed)
      packed_bytes_ = bytes_packed(sizes_, Pass::Backward);
    if (problem_.output.element == Element::F32)
      rounded_bytes_ = bytes_of<Bf16>(round_up(sizes_.rows * sizes_.out, 2 * kLanes));
    const std::size_t largest =
        std::max({forward_.scratch_bytes(), packed_bytes_ + input_.scratch_bytes(),
                  weight_.scratch_bytes(), weight_more_.scratch_bytes()});
    traits_.scratch_bytes = rounded_bytes_ + largest;
  }

  void forward(const ForwardArguments& a) override {
    forward_(name(), {.left = a.inputs[0],
                      .right = a.weights.packed,
                      .bias = spec_.bias ? a.weights.parameters[1] : nullptr,
                      .result = a.output,
                      .scratch = a.scratch});
  }

  void backward_input(const BackwardInputArguments& a) override {
    if (!a.input_gradients[0]) return;
    const void* dy = rounded(a.output_gradient, a.scratch);
    std::byte* scratch = static_cast<std::byte*>(a.scratch) + rounded_bytes_;
    const void* packed = a.weights.packed;
    if (packed_bytes_ > 0) {
      pack_bf16(spec_, problem_, Pass::Backward, floats(a.weights.parameters[0]), scratch);
      packed = scratch;
    }
    input_(name(), {.left = dy,
                    .right = packed,
                    .result = a.input_gradients[0],
                    .scratch = scratch + packed_bytes_});
    if (problem_.masks_input) mask(a.inputs[0], a.input_gradients[0]);
  }

  void backward_weight(const BackwardWeightArguments& a) override {
    const void* dy = rounded(a.output_gradient, a.scratch);
    MatrixProduct& product = a.accumulate ? weight_more_ : weight_;
    product(name(), {.left = dy,
                     .right = a.inputs[0],
                     .result = a.gradients[0],
                     .scratch = static_cast<std::byte*>(a.scratch) + rounded_bytes_});
    if (!spec_.bias) return;
    with_element(problem_.output.element, [&]<class E>() {
      add_rows(elements<E>(a.output_gradient), floats(a.gradients[1]), a.accumulate);
    });
  }

 private:
  const std::string& name() const { return problem_.layer->name; }

  void prepare() {
    const auto [rows, in, out] = sizes_;
    constexpr Element bf16 = Element::Bf16;
    const Matrix x{rows, in, false, bf16}, dy{rows, out, false, bf16},
        transposed{out, rows, true, bf16};
    forward_ =
        MatrixProduct(name(), x, {in, out}, problem_.output.element,
                      {.packed = true, .with_bias = spec_.bias, .with_relu = problem_.with_relu});
    if (problem_.mode != Mode::Train) return;
    input_ = MatrixProduct(name(), dy, {out, in}, bf16, {.packed = true});
    weight_ = MatrixProduct(name(), transposed, x, Element::F32);
    weight_more_ = MatrixProduct(name(), transposed, x, Element::F32, {.accumulates = true});
  }

  const void* rounded(const void* gradient, void* scratch) const {
    if (rounded_bytes_ == 0) return gradient;
    const std::int64_t count = sizes_.rows * sizes_.out;
    parallel_ranges(count, kElementWork * count, [&](std::int64_t begin, std::int64_t end) {
      loops_.narrow(floats(gradient) + begin, elements<Bf16>(scratch) + begin, end - begin);
    });
    return scratch;
  }

  void mask(const void* input, void* gradient) const {
    const std::int64_t count = sizes_.rows * sizes_.in;
    parallel_ranges(count, kElementWork * count, [&](std::int64_t begin, std::int64_t end) {
      Bf16* const dx = elements<Bf16>(gradient) + begin;
      loops_.relu_backward(elements<Bf16>(input) + begin, dx, dx, end - begin);
    });
  }

  // The bias gradient: one thread per column, which adds up the rows in their order.
  template <class E>
  void add_rows(const E* rows, float* sums, bool accumulate) const {
    const std::int64_t blocks = round_up(sizes_.out, kLanes) / kLanes;
    parallel_each(blocks, kElementWork * sizes_.rows * sizes_.out, [&](std::int64_t b) {
      const std::int64_t first = b * kLanes, lanes = std::min(kLanes, sizes_.out - first);
      if (!accumulate) std::fill_n(sums + first, lanes, 0.0f);
      element_loops<E>().add_rows(rows + first, sizes_.rows, sizes_.out, lanes, sums + first);
    });
  }

  const ElementLoops<Bf16>& loops_ = element_loops<Bf16>();
  Linear spec_;
  Sizes sizes_;
  MatrixProduct forward_, input_, weight_, weight_more_;
  std::size_t packed_bytes_ = 0;   // of a copy, in scratch
  std::size_t rounded_bytes_ = 0;  // of dy, in scratch
};

}  // namespace

std::unique_ptr<Kernel> make_linear_bf16(const Linear& spec, Problem problem) {
  return std::make_unique<LinearBf16Kernel>(spec, std::move(problem));
}

ParameterLayout linear_bf16_layout(const Linear& spec, const Problem& problem, int parameter) {
  if (parameter == 1) return channel_parameter(spec.out_features, 1);
  const ValueLayout input = problem.inputs[0];
  const std::int64_t stored = sizes_of(spec, problem).in,
                     plain = problem.layer->parameters[0].shape.dims[1];
  return {.elements = spec.out_features * stored, .position = [=](std::int64_t index) {
            return index / plain * stored + input.position(index % plain);
          }};
}

std::size_t packed_bf16_bytes(const Linear& spec, const Problem& problem, Pass pass) {
  return bytes_packed(sizes_of(spec, problem), pass);
}

void pack_bf16(const Linear& spec, const Problem& problem, Pass pass, const float* weights,
               void* packed) {
  const Sizes s = sizes_of(spec, problem);
  const Matrix plain =
      pass == Pass::Forward ? Matrix{s.in, s.out, true} : Matrix{.rows = s.out, .columns = s.in};
  put_in_blocks(problem.layer->name, plain, weights, packed);
}

}  // namespace pipetrain::cpu
