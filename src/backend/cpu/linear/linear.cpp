// y = x W^T + b by our own loops. The weights are stored in panels of 32 outputs, [out /
// 32][in][32]; the forward streams them, and the weight gradient is written in the same layout.
// With few samples the input gradient is the forward of the transposed weights, packed once per
// version; with many it reads the weights as they are, 16 samples to a vector. Both add up in the
// same order. `in` is in the order in which the input is stored.
#include <algorithm>
#include <cstring>
#include <numeric>

#include "backend/cpu/kernel.hpp"
#include "backend/cpu/linear/linear_bf16.hpp"
#include "backend/cpu/linear/linear_rows.hpp"
#include "backend/cpu/loops/vector_loops.hpp"
#include "backend/cpu/parallel.hpp"
#include "backend/cpu/update.hpp"
#include "backend/cpu/widened.hpp"
#include "base/bytes_of.hpp"

namespace pipetrain::cpu {
namespace {

std::int64_t panel_count(std::int64_t outputs) { return round_up(outputs, kPanel) / kPanel; }

// Transposed: [in / 32][out][32].
std::size_t packed_size(std::int64_t in, std::int64_t out) {
  return bytes_of<float>(panel_count(in) * out * kPanel);
}

// Whole vectors of samples and inputs, and enough samples to pay for transposing the gradient?
bool reads_stored_weights(const Problem& problem) {
  return problem.samples % kPanel == 0 && problem.inputs[0].stored_elements() % kLanes == 0;
}

class LinearKernel final : public CpuKernel {
 public:
  LinearKernel(const Linear& spec, Problem problem)
      : CpuKernel(std::move(problem)),
        spec_(spec),
        in_(problem_.inputs[0].stored_elements()),
        out_(spec.out_features),
        panels_(panel_count(out_)),
        work_(problem_.samples * in_ * out_),
        reads_stored_(reads_stored_weights(problem_)) {
    traits_.backward_weight_reads_inputs = true;
    traits_.fuses_sgd = true;
    traits_.backward_input_reads_inputs = problem_.masks_input;
    traits_.scratch_bytes = std::max(of_many().bytes, gathered_bytes()) + bytes_of<double>(units());
    if (!reads_stored_ && !problem_.keeps_packed && problem_.mode == Mode::Train)
      traits_.scratch_bytes = std::max(traits_.scratch_bytes, packed_size(in_, out_));
  }

  void forward(const ForwardArguments& a) override {
    run(LinearForwardLoop{.x = floats(a.inputs[0]),
                          .weights = floats(a.weights.parameters[0]),
                          .bias = spec_.bias ? floats(a.weights.parameters[1]) : nullptr,
                          .y = floats(a.output),
                          .samples = problem_.samples,
                          .in = in_,
                          .out = out_,
                          .with_relu = problem_.with_relu});
  }

  void backward_input(const BackwardInputArguments& a) override {
    if (!a.input_gradients[0]) return;
    if (reads_stored_) return backward_input_of_many(a);
    const void* packed = a.weights.packed;
    if (!problem_.keeps_packed) {
      pack(spec_, problem_, Pass::Backward, floats(a.weights.parameters[0]), a.scratch);
      packed = a.scratch;
    }
    run(LinearForwardLoop{.x = floats(a.output_gradient),
                          .weights = floats(packed),
                          .bias = nullptr,
                          .y = floats(a.input_gradients[0]),
                          .samples = problem_.samples,
                          .in = out_,
                          .out = in_,
                          .mask = mask(a),
                          .cut = linear_cut(out_)});
  }

  void backward_weight(const BackwardWeightArguments& a) override {
    const UpdateArguments* parameters = a.update ? a.update->parameters.data() : nullptr;
    auto* const squares =
        reinterpret_cast<double*>(static_cast<std::byte*>(a.scratch) + gathered_bytes());
    const LinearWeightLoop loop{.x = floats(a.inputs[0]),
                                .gradient = floats(a.output_gradient),
                                .weights = floats(a.gradients[0]),
                                .bias = spec_.bias ? floats(a.gradients[1]) : nullptr,
                                .samples = problem_.samples,
                                .in = in_,
                                .out = out_,
                                .accumulate = a.accumulate,
                                .rule = a.update ? &a.update->rules[0] : nullptr,
                                .update = parameters,
                                .squares = squares};
    parallel_ranges_with(
        units(), work_, threads_,
        [&](int thread) {
          return GatheredPanel{.rows = floats(a.scratch) + thread * problem_.samples * kPanel};
        },
        [&](GatheredPanel& panel, std::int64_t begin, std::int64_t end) {
          loops_.linear_backward_weight(loop, panel, begin, end);
        });
    if (a.update) finish_update(*a.update, squares);
  }

  void update(Stream&, const FusedUpdate& u, void* scratch) override {
    auto* const squares = static_cast<double*>(scratch);
    parallel_ranges(units(), kElementWork * u.parameters[0].elements,
                    [&](std::int64_t begin, std::int64_t end) {
                      loops_.linear_update(u.rules[0], u.parameters[0], in_, begin, end, squares);
                    });
    finish_update(u, squares);
  }

 private:
  // The scratch of backward_input_of_many(), as offsets in bytes.
  struct OfMany {
    std::size_t sums, arrived, bytes;
  };
  OfMany of_many() const {
    if (!reads_stored_ || problem_.mode != Mode::Train) return {};
    const auto transposed = bytes_of<float>(problem_.samples * out_),
               sums = bytes_of<float>(2 * in_ * problem_.samples);
    if (linear_cut(out_) == 0) return {transposed, transposed, transposed};
    return {transposed, transposed + sums, transposed + sums + blocks() * sizeof(std::uint32_t)};
  }

  void backward_input_of_many(const BackwardInputArguments& a) const {
    auto* const scratch = static_cast<std::byte*>(a.scratch);
    auto* const arrived = reinterpret_cast<std::uint32_t*>(scratch + of_many().arrived);
    transpose(floats(a.output_gradient), floats(scratch));
    if (linear_cut(out_) > 0) std::fill_n(arrived, blocks(), 0U);
    const LinearInputLoop loop{.gradient = floats(scratch),
                               .weights = floats(a.weights.parameters[0]),
                               .dx = floats(a.input_gradients[0]),
                               .samples = problem_.samples,
                               .in = in_,
                               .out = out_,
                               .mask = mask(a),
                               .sums = floats(scratch + of_many().sums),
                               .arrived = arrived};
    parallel_ranges(linear_input_units(in_, out_), work_,
                    [&](std::int64_t begin, std::int64_t end) {
                      loops_.linear_backward_input(loop, begin, end);
                    });
  }

  // [samples][out] -> [samples / 32][out][32]
  void transpose(const float* gradient, float* transposed) const {
    const std::int64_t whole = out_ / kLanes * kLanes;
    const std::int64_t blocks = problem_.samples / kLanes;
    parallel_each(blocks, kElementWork * problem_.samples * out_, [&](std::int64_t block) {
      const std::int64_t n = block * kLanes;
      const float* from = gradient + n * out_;
      float* to = transposed + n / kPanel * out_ * kPanel + n % kPanel;
      for (std::int64_t o = 0; o < whole; o += kLanes)
        loops_.f32.transpose_tile(from + o, out_, kLanes, to + o * kPanel, kPanel, kLanes);
      for (std::int64_t o = whole; o < out_; ++o)
        for (std::int64_t i = 0; i < kLanes; ++i) to[o * kPanel + i] = from[i * out_ + o];
    });
  }

  void finish_update(const FusedUpdate& u, const double* squares) const {
    if (u.parameters[0].sum_of_squares)  // several partial sums side by side, in a fixed order
      *u.parameters[0].sum_of_squares = std::reduce(squares, squares + units());
    if (spec_.bias) cpu::update(u.rules[1], u.parameters[1]);
  }

  std::int64_t units() const { return panels_ * linear_tiles(in_); }  // of the weight gradient
  std::size_t blocks() const { return static_cast<std::size_t>(in_ / kLanes); }
  std::size_t gathered_bytes() const {
    return bytes_of<float>(threads_ * problem_.samples * kPanel);
  }
  const float* mask(const BackwardInputArguments& a) const {
    return problem_.masks_input ? floats(a.inputs[0]) : nullptr;
  }

  void run(const LinearForwardLoop& loop) const {
    parallel_ranges(panel_count(loop.out) * linear_tiles(loop.samples), work_,
                    [&](std::int64_t begin, std::int64_t end, std::int64_t part_end) {
                      loops_.linear_forward(loop, begin, end, part_end);
                    });
  }

  const VectorLoops& loops_ = vector_loops();
  Linear spec_;
  std::int64_t in_, out_, panels_, work_;
  int threads_ = omp_get_max_threads();
  bool reads_stored_;
};

}  // namespace

std::unique_ptr<Kernel> make_kernel(const Linear& spec, Problem problem) {
  if (problem.multiplies_bf16) return make_linear_bf16(spec, std::move(problem));
  const auto in_floats = [&](Problem given) -> std::unique_ptr<Kernel> {
    if (is_over_rows(given)) return make_linear_rows(spec, std::move(given));
    return std::make_unique<LinearKernel>(spec, std::move(given));
  };
  if (!is_bf16(problem)) return in_floats(std::move(problem));
  auto f32 = in_floats(in_f32(problem));
  return make_widened(std::move(problem), std::move(f32));
}

ParameterLayout parameter_layout(const Linear& spec, const Problem& problem, int parameter) {
  if (problem.multiplies_bf16) return linear_bf16_layout(spec, problem, parameter);
  if (is_over_rows(problem)) return linear_rows_layout(spec, problem, parameter);
  if (parameter == 1) return channel_parameter(spec.out_features, kPanel);
  const ValueLayout input = problem.inputs[0];
  const std::int64_t in = input.stored_elements();
  return {.elements = round_up(spec.out_features, kPanel) * in,
          .position = [input, in](std::int64_t index) {
            const std::int64_t o = index / input.elements(), i = index % input.elements();
            return (o / kPanel * in + input.position(i)) * kPanel + o % kPanel;
          }};
}

bool has_bf16_products(const Linear&, const Problem&) { return true; }

std::size_t packed_bytes(const Linear& spec, const Problem& problem, Pass pass) {
  if (problem.multiplies_bf16) return packed_bf16_bytes(spec, problem, pass);
  if (pass == Pass::Forward || is_over_rows(problem) || reads_stored_weights(problem)) return 0;
  return packed_size(problem.inputs[0].stored_elements(), spec.out_features);
}

// In tiles of 16 x 16. Inputs beyond the last one become zeros.
void pack(const Linear& spec, const Problem& problem, Pass pass, const float* weights,
          void* packed_memory) {
  if (problem.multiplies_bf16) return pack_bf16(spec, problem, pass, weights, packed_memory);
  float* const packed = floats(packed_memory);
  const std::int64_t in = problem.inputs[0].stored_elements(), out = spec.out_features;
  parallel_each(panel_count(in), kElementWork * in * out, [&](std::int64_t panel) {
    for (std::int64_t i = panel * kPanel; i < (panel + 1) * kPanel; i += kLanes)
      for (std::int64_t o = 0; o < out; o += kLanes)
        vector_loops().f32.transpose_tile(weights + (o / kPanel * in + i) * kPanel + o % kPanel,
                                          kPanel, std::clamp<std::int64_t>(in - i, 0, kLanes),
                                          packed + (panel * out + o) * kPanel + i % kPanel, kPanel,
                                          std::min(kLanes, out - o));
  });
}

}  // namespace pipetrain::cpu
