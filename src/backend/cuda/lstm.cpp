// An lstm in f32. The input's part of all gate sums is one product over all positions. Then,
// position by position, the state's part is a product over all samples, followed by the gates.
// Backward goes through the positions in reverse, and replaces gates and cells by the gradients of
// the sums and by the previous states, so that each weight's gradient is one product over all rows.
#include "backend/cuda/device/lstm.hpp"

#include "backend/cuda/device/reduce.hpp"
#include "backend/cuda/kernel.hpp"
#include "backend/cuda/linear_plan.hpp"
#include "backend/cuda/parts.hpp"
#include "base/bytes_of.hpp"
#include "graph/layer.hpp"

namespace pipetrain::cuda {
namespace {

constexpr std::size_t kDirectionsMax = 2;

class LstmKernel final : public CudaKernel {
 public:
  LstmKernel(const Lstm& spec, Problem problem)
      : CudaKernel(std::move(problem)),
        spec_(spec),
        directions_(spec.bidirectional ? 2 : 1),
        length_(problem_.output.dims[0]),
        hidden_(spec.hidden_size),
        rows_(problem_.samples * length_),
        of_inputs_{.rows = rows_, .in = problem_.inputs[0].dims[1], .out = 4 * hidden_},
        of_states_{.rows = rows_, .in = hidden_, .out = 4 * hidden_},
        of_step_{.rows = problem_.samples, .in = hidden_, .out = 4 * hidden_},
        input_sums_(name(), linear_forward(of_inputs_, false)),
        state_sums_(name(), linear_forward(of_step_, false)),
        input_gradient_(name(), linear_input_gradient(of_inputs_)),
        state_gradient_(name(), linear_input_gradient(of_step_)),
        input_weight_(name(), linear_weight_gradient(of_inputs_)),
        state_weight_(name(), linear_weight_gradient(of_states_)) {
    traits_.backward_weight_reads_inputs = true;
    traits_.backward_weight_needs_backward_input = true;
    traits_.scratch_bytes = scratch_in(nullptr).bytes;
    const std::size_t saved = saved_in(nullptr).bytes;
    (trains() ? traits_.saved_bytes : traits_.scratch_bytes) += saved;
    if (!trains() && length_ == 1 && spec.padding < 0 && !spec.reverse && directions_ == 1)
      traits_.state_bytes.assign(2, bytes_of<float>(rows_ * hidden_));
  }

  void forward(const ForwardArguments& a) override {
    DeviceStream& stream = device(a.stream);
    const Scratch scratch = scratch_in(a.scratch);
    const Saved saved =
        saved_in(trains() ? a.saved : static_cast<std::byte*>(a.scratch) + scratch.bytes);
    if (spec_.padding >= 0)
      lstm_lengths(stream.handle(), static_cast<const std::int32_t*>(a.inputs.back()),
                   problem_.samples, length_, static_cast<std::int32_t>(spec_.padding),
                   saved.lengths);
    for (std::size_t d = 0; d < directions_; ++d) {
      input_sums_(stream, {.a = parameter(a.weights, d, 0),
                           .b = floats(a.inputs[0]),
                           .d = saved.gates[d],
                           .scratch = scratch.products});
      for (std::int64_t i = 0; i < length_; ++i) forward_step(a, d, i, saved, scratch);
    }
  }

  void backward_input(const BackwardInputArguments& a) override {
    DeviceStream& stream = device(a.stream);
    const Saved saved = saved_in(a.saved);
    const Scratch scratch = scratch_in(a.scratch);
    for (std::size_t d = 0; d < directions_; ++d) {
      for (std::int64_t i = length_; i-- > 0;) backward_step(a, d, i, saved, scratch);
      if (a.input_gradients[0])
        input_gradient_(stream, {.a = parameter(a.weights, d, 0),
                                 .b = saved.gates[d],
                                 .d = floats(a.input_gradients[0]),
                                 .accumulate = d > 0,
                                 .scratch = scratch.products});
    }
  }

  void backward_weight(const BackwardWeightArguments& a) override {
    DeviceStream& stream = device(a.stream);
    const Saved saved = saved_in(const_cast<void*>(a.saved));
    const Scratch scratch = scratch_in(a.scratch);
    for (std::size_t d = 0; d < directions_; ++d) {
      const auto gradients = a.gradients.subspan(d * parameters_each(), parameters_each());
      const auto product = [&](Matmul& by, const float* left, void* to) {
        by(stream, {.a = left,
                    .b = saved.gates[d],
                    .d = floats(to),
                    .accumulate = a.accumulate,
                    .scratch = scratch.products});
      };
      product(input_weight_, floats(a.inputs[0]), gradients[0]);
      product(state_weight_, saved.cells[d], gradients[1]);
      for (void* const bias : gradients.subspan(2))
        column_sums({stream.handle(), stream.partial_sums()}, saved.gates[d], rows_, 4 * hidden_,
                    floats(bias), a.accumulate);
    }
  }

 private:
  struct Saved {
    std::int32_t* lengths = nullptr;    // of each sample's sequence
    float* gates[kDirectionsMax] = {};  // [rows][4 hidden]; after backward: their sums' gradients
    float* cells[kDirectionsMax] = {};  // [rows][hidden]; after backward: the previous states
    std::size_t bytes = 0;
  };
  struct Scratch {
    float *states, *cells;  // [samples][hidden]: h, or its gradient; in backward: dc
    float* sums;            // [samples][4 hidden]: from the state, or the gradients of the gates'
                            // sums
    void* products;
    std::size_t bytes;
  };

  const std::string& name() const { return problem_.layer->name; }
  bool trains() const { return problem_.mode == Mode::Train; }
  std::size_t parameters_each() const { return spec_.bias ? 4 : 2; }
  const float* parameter(const Weights& weights, std::size_t direction, std::size_t p) const {
    return floats(weights.parameters[direction * parameters_each() + p]);
  }

  Saved saved_in(void* memory) const {
    Parts parts(memory);
    Saved saved;
    saved.lengths = parts.take<std::int32_t>(problem_.samples);
    for (std::size_t d = 0; d < directions_; ++d) {
      saved.gates[d] = parts.take<float>(rows_ * 4 * hidden_);
      saved.cells[d] = parts.take<float>(rows_ * hidden_);
    }
    saved.bytes = parts.bytes();
    return saved;
  }
  Scratch scratch_in(void* memory) const {
    Parts parts(memory);
    const std::int64_t states = problem_.samples * hidden_;
    Scratch scratch{};
    scratch.states = parts.take<float>(states);
    scratch.cells = parts.take<float>(states);
    scratch.sums = parts.take<float>(4 * states);
    scratch.products = parts.take<std::byte>(kMatmulScratchBytes);
    scratch.bytes = parts.bytes();
    return scratch;
  }

  // The i-th position in the order of a direction.
  std::int64_t at(std::size_t direction, std::int64_t i) const {
    return spec_.reverse || direction > 0 ? length_ - 1 - i : i;
  }
  LstmPosition position(std::int64_t t, const Saved& saved) const {
    return {.position = t,
            .samples = problem_.samples,
            .length = length_,
            .hidden = hidden_,
            .output_stride = problem_.output.dims[1],
            .lengths = spec_.padding >= 0 ? saved.lengths : nullptr};
  }
  std::int64_t output_at(std::int64_t t, std::size_t direction) const {
    return t * problem_.output.dims[1] + static_cast<std::int64_t>(direction) * hidden_;
  }

  void forward_step(const ForwardArguments& a, std::size_t d, std::int64_t i, const Saved& saved,
                    const Scratch& scratch) {
    DeviceStream& stream = device(a.stream);
    // A given state is replaced in place; for one position, states are stored like cells.
    const bool carries = !a.state.empty(), follows = carries || i > 0;
    const std::int64_t t = at(d, i), before = i > 0 ? at(d, i - 1) : 0;
    float* const states = carries ? floats(a.state[0]) : scratch.states;
    float* const cells = carries ? floats(a.state[1]) : saved.cells[d];
    if (follows)
      state_sums_(stream, {.a = parameter(a.weights, d, 1),
                           .b = states,
                           .d = scratch.sums,
                           .scratch = scratch.products});
    lstm_step(stream.handle(), {.at = position(t, saved),
                                .input_bias = spec_.bias ? parameter(a.weights, d, 2) : nullptr,
                                .state_bias = spec_.bias ? parameter(a.weights, d, 3) : nullptr,
                                .gates = saved.gates[d] + t * 4 * hidden_,
                                .state_sums = follows ? scratch.sums : nullptr,
                                .cells = cells + t * hidden_,
                                .cells_before = follows ? cells + before * hidden_ : nullptr,
                                .h = states,
                                .y = floats(a.output) + output_at(t, d)});
  }

  void backward_step(const BackwardInputArguments& a, std::size_t d, std::int64_t i,
                     const Saved& saved, const Scratch& scratch) {
    DeviceStream& stream = device(a.stream);
    const std::int64_t t = at(d, i), before = i > 0 ? at(d, i - 1) : 0;
    lstm_step_backward(stream.handle(),
                       {.at = position(t, saved),
                        .gates = saved.gates[d] + t * 4 * hidden_,
                        .gates_before = i > 0 ? saved.gates[d] + before * 4 * hidden_ : nullptr,
                        .cells = saved.cells[d] + t * hidden_,
                        .cells_before = i > 0 ? saved.cells[d] + before * hidden_ : nullptr,
                        .dy = floats(a.output_gradient) + output_at(t, d),
                        .dh = i + 1 < length_ ? scratch.states : nullptr,
                        .dc = scratch.cells,
                        .sums = scratch.sums});
    if (i > 0)
      state_gradient_(stream, {.a = parameter(a.weights, d, 1),
                               .b = scratch.sums,
                               .d = scratch.states,
                               .scratch = scratch.products});
  }

  Lstm spec_;
  std::size_t directions_;
  std::int64_t length_, hidden_, rows_;
  LinearSizes of_inputs_, of_states_, of_step_;
  Matmul input_sums_, state_sums_, input_gradient_, state_gradient_, input_weight_, state_weight_;
};

}  // namespace

std::unique_ptr<Kernel> make_kernel(const Lstm& spec, Problem problem) {
  return std::make_unique<LstmKernel>(spec, std::move(problem));
}

}  // namespace pipetrain::cuda
