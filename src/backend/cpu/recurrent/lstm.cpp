// The input's part of all gate sums is one product over all positions. Then, position by position,
// the state's part is a product over all samples, followed by the gates (vector_loops_lstm.inl).
// Backward goes through the positions in reverse. Gates and cells of each row are kept; backward
// replaces them by the gradients of the sums and by the previous states, so that each weight's
// gradient is one product.
#include "backend/cpu/kernel.hpp"
#include "backend/cpu/loops/vector_loops.hpp"
#include "backend/cpu/parallel.hpp"
#include "backend/cpu/recurrent/lstm_products.hpp"
#include "backend/cpu/widened.hpp"
#include "base/bytes_of.hpp"
#include "base/cache_line.hpp"
#include "graph/layer.hpp"

namespace pipetrain::cpu {
namespace {

constexpr std::int64_t kGateWork = 60;  // per state
constexpr std::size_t kDirectionsMax = 2;

LstmSizes sizes_of(const Lstm& spec, const Problem& problem) {
  const std::int64_t length = problem.layer->output.dims[0];
  return {.samples = problem.samples,
          .length = length,
          .width = problem.layer->parameters[0].shape.dims[1],
          .hidden = spec.hidden_size};
}

std::size_t directions_of(const Lstm& spec) { return spec.bidirectional ? 2 : 1; }

// Gives out memory, part by part; starting from null, it only counts.
class Parts {
 public:
  explicit Parts(void* memory) : memory_(static_cast<std::byte*>(memory)) {}
  template <class Element>
  Element* take(std::int64_t count) {
    std::byte* const taken = memory_ ? memory_ + bytes_ : nullptr;
    bytes_ += whole_lines(bytes_of<Element>(count));
    return reinterpret_cast<Element*>(taken);
  }
  std::size_t bytes() const { return bytes_; }

 private:
  std::byte* memory_;
  std::size_t bytes_ = 0;
};

LstmWeights weights_of(const Lstm& spec, std::span<const void* const> parameters,
                       std::size_t direction) {
  const auto own = parameters.subspan(direction * (spec.bias ? 4 : 2));
  LstmWeights weights{.input = floats(own[0]), .recurrent = floats(own[1])};
  if (spec.bias) weights.input_bias = floats(own[2]), weights.recurrent_bias = floats(own[3]);
  return weights;
}

template <class E>
class LstmKernel final : public CpuKernel {
 public:
  LstmKernel(Problem problem, const Lstm& spec)
      : CpuKernel(std::move(problem)),
        spec_(spec),
        sizes_(sizes_of(spec, problem_)),
        directions_(directions_of(spec)),
        products_(problem_.layer->name, sizes_, problem_.mode) {
    traits_.backward_weight_reads_inputs = true;
    traits_.backward_weight_needs_backward_input = true;
    if (trains()) traits_.saved_bytes = saved_in(nullptr).bytes;
    traits_.scratch_bytes = std::max(forward_in(nullptr).bytes, backward_in(nullptr).bytes);
    if (!trains()) traits_.scratch_bytes += saved_in(nullptr).bytes;
    if (!trains() && sizes_.length == 1 && spec.padding < 0 && !spec.reverse && directions_ == 1) {
      const auto states = static_cast<std::size_t>(sizes_.samples * sizes_.hidden);
      traits_.state_bytes = {states * sizeof(E), states * sizeof(float)};
    }
  }

  void forward(const ForwardArguments& a) override {
    const ForwardScratch scratch = forward_in(a.scratch);
    const Saved saved =
        saved_in(trains() ? a.saved : static_cast<std::byte*>(a.scratch) + scratch.bytes);
    measure(a.inputs, saved.lengths);
    // A given state is replaced in place; for one position, states are stored like cells.
    const bool carries = !a.state.empty();
    E* const h = carries ? elements<E>(a.state[0]) : scratch.h;
    for (std::size_t d = 0; d < directions_; ++d) {
      const void* const packed = packed_of(a.weights, Pass::Forward, d);
      float* const cells = carries ? floats(a.state[1]) : saved.cells[d];
      float* const sums = sums_of(saved.gates[d], scratch);
      products_.input_sums(weights_of(spec_, a.weights.parameters, d), packed, a.inputs[0], sums,
                           scratch.products);
      const Walk walk = walk_of(d, saved.lengths);
      for (std::int64_t i = 0; i < sizes_.length; ++i) {
        const bool follows = carries || walk.follows(i);
        if (follows) products_.state_sums(packed, h, scratch.sums, scratch.products);
        const std::int64_t t = walk.at(i), before = i > 0 ? walk.at(i - 1) : 0;
        const LstmStep<E> step{.at = position(t, saved.lengths),
                               .sums = sums + t * sizes_.gates(),
                               .recurrent = follows ? scratch.sums : nullptr,
                               .gates = saved.gates[d] + t * sizes_.gates(),
                               .cells = cells + t * sizes_.hidden,
                               .cells_before = follows ? cells + before * sizes_.hidden : nullptr,
                               .h = h,
                               .y = elements<E>(a.output) + output_at(t, d)};
        each_sample(
            [&](std::int64_t begin, std::int64_t end) { loops_.lstm_step(step, begin, end); });
      }
    }
  }

  void backward_input(const BackwardInputArguments& a) override {
    const Saved saved = saved_in(a.saved);
    const BackwardScratch scratch = backward_in(a.scratch);
    for (std::size_t d = 0; d < directions_; ++d) {
      const void* const packed = packed_of(a.weights, Pass::Backward, d);
      gate_gradients(a, saved, d, packed, scratch);
      if (a.input_gradients[0])
        products_.input_gradient(weights_of(spec_, a.weights.parameters, d), packed, saved.gates[d],
                                 input_sums(a, scratch), d > 0, scratch.products);
    }
    if constexpr (element_of<E> == Element::Bf16)
      if (a.input_gradients[0]) narrow(scratch.dx, elements<E>(a.input_gradients[0]));
  }

  void backward_weight(const BackwardWeightArguments& a) override {
    const Saved saved = saved_in(const_cast<void*>(a.saved));
    const std::size_t each = spec_.bias ? 4 : 2;
    for (std::size_t d = 0; d < directions_; ++d) {
      const auto gradients = a.gradients.subspan(d * each, each);
      products_.input_weight_gradient(saved.gates[d], a.inputs[0], floats(gradients[0]),
                                      a.accumulate, a.scratch);
      products_.state_weight_gradient(saved.gates[d], saved.states[d], floats(gradients[1]),
                                      a.accumulate, a.scratch);
      for (void* const bias : gradients.subspan(2))
        column_ranges(sizes_.gates(), sizes_.rows(), [&](std::int64_t begin, std::int64_t end) {
          loops_.column_sums(saved.gates[d], sizes_.rows(), sizes_.gates(), floats(bias),
                             a.accumulate, begin, end);
        });
    }
  }

 private:
  struct Saved {
    std::int32_t* lengths;         // of each sample's sequence
    E* gates[kDirectionsMax];      // [rows][4 hidden]; after backward: their sums' gradients
    float* cells[kDirectionsMax];  // [rows][hidden]
    E* states[kDirectionsMax];     // after backward: previous states; f32: in the cells' place
    std::size_t bytes;
  };
  struct ForwardScratch {
    E* h;             // [samples][hidden]
    float* sums;      // [samples][4 hidden]
    float* all_sums;  // bf16: [rows][4 hidden]
    void* products;
    std::size_t bytes;
  };
  struct BackwardScratch {
    E* sums;         // gradients of the gates' sums, [samples][4 hidden]
    float *dh, *dc;  // [samples][hidden]
    float* dx;       // bf16: [rows][width]
    void* products;
    std::size_t bytes;
  };

  static constexpr bool kIsFloat = element_of<E> == Element::F32;

  bool trains() const { return problem_.mode == Mode::Train; }

  Saved saved_in(void* memory) const {
    Parts parts(memory);
    Saved saved{};
    saved.lengths = parts.take<std::int32_t>(sizes_.samples);
    for (std::size_t d = 0; d < directions_; ++d) {
      saved.gates[d] = parts.take<E>(sizes_.rows() * sizes_.gates());
      saved.cells[d] = parts.take<float>(sizes_.rows() * sizes_.hidden);
      if constexpr (kIsFloat)
        saved.states[d] = saved.cells[d];
      else
        saved.states[d] = trains() ? parts.take<E>(sizes_.rows() * sizes_.hidden) : nullptr;
    }
    saved.bytes = parts.bytes();
    return saved;
  }
  ForwardScratch forward_in(void* memory) const {
    Parts parts(memory);
    ForwardScratch scratch{};
    scratch.h = parts.take<E>(sizes_.samples * sizes_.hidden);
    scratch.sums = parts.take<float>(sizes_.samples * sizes_.gates());
    if (!kIsFloat) scratch.all_sums = parts.take<float>(sizes_.rows() * sizes_.gates());
    scratch.products = parts.take<std::byte>(static_cast<std::int64_t>(products_.scratch_bytes()));
    scratch.bytes = parts.bytes();
    return scratch;
  }
  BackwardScratch backward_in(void* memory) const {
    Parts parts(memory);
    BackwardScratch scratch{};
    scratch.sums = parts.take<E>(sizes_.samples * sizes_.gates());
    scratch.dh = parts.take<float>(sizes_.samples * sizes_.hidden);
    scratch.dc = parts.take<float>(sizes_.samples * sizes_.hidden);
    if (!kIsFloat) scratch.dx = parts.take<float>(sizes_.rows() * sizes_.width);
    scratch.products = parts.take<std::byte>(static_cast<std::int64_t>(products_.scratch_bytes()));
    scratch.bytes = parts.bytes();
    return scratch;
  }
  // In f32, the gates replace their sums in memory.
  static float* sums_of(E* gates, const ForwardScratch& scratch) {
    if constexpr (kIsFloat)
      return gates;
    else
      return scratch.all_sums;
  }
  static float* input_sums(const BackwardInputArguments& a, const BackwardScratch& scratch) {
    return kIsFloat ? floats(a.input_gradients[0]) : scratch.dx;
  }

  const void* packed_of(const Weights& weights, Pass pass, std::size_t direction) const {
    return static_cast<const std::byte*>(weights.packed) +
           direction * lstm_packed_bytes<E>(sizes_, pass);
  }

  // The order of positions in a direction. follows(): does a position take the state of the one
  // before it? Not if there is none, nor where all sequences have ended.
  struct Walk {
    std::int64_t length, longest;
    bool reverse;
    std::int64_t at(std::int64_t i) const { return reverse ? length - 1 - i : i; }
    bool follows(std::int64_t i) const { return i > 0 && at(i) < longest && at(i - 1) < longest; }
  };
  Walk walk_of(std::size_t direction, const std::int32_t* lengths) const {
    std::int64_t longest = spec_.padding < 0 ? sizes_.length : 0;
    for (std::int64_t n = 0; n < sizes_.samples && spec_.padding >= 0; ++n)
      longest = std::max<std::int64_t>(longest, lengths[n]);
    return {sizes_.length, longest, spec_.reverse || direction > 0};
  }

  // A sequence extends to its last token that is not padding.
  void measure(std::span<const void* const> inputs, std::int32_t* lengths) const {
    if (spec_.padding < 0) return;
    const auto* tokens = static_cast<const std::int32_t*>(inputs.back());
    for (std::int64_t n = 0; n < sizes_.samples; ++n, tokens += sizes_.length) {
      std::int64_t length = sizes_.length;
      while (length > 0 && tokens[length - 1] == spec_.padding) --length;
      lengths[n] = static_cast<std::int32_t>(length);
    }
  }

  LstmPosition position(std::int64_t t, const std::int32_t* lengths) const {
    return {.position = t,
            .length = sizes_.length,
            .hidden = sizes_.hidden,
            .output_stride = output_width(),
            .lengths = spec_.padding < 0 ? nullptr : lengths};
  }
  std::int64_t output_width() const {
    return static_cast<std::int64_t>(directions_) * sizes_.hidden;
  }
  std::int64_t output_at(std::int64_t t, std::size_t direction) const {
    return t * output_width() + static_cast<std::int64_t>(direction) * sizes_.hidden;
  }

  template <class Body>
  void each_sample(Body body) const {
    parallel_ranges(sizes_.samples, kGateWork * sizes_.samples * sizes_.hidden, body);
  }

  void gate_gradients(const BackwardInputArguments& a, const Saved& saved, std::size_t d,
                      const void* packed, const BackwardScratch& scratch) {
    const Walk walk = walk_of(d, saved.lengths);
    bool has_behind = false;  // is there a later position to which this one's state went?
    for (std::int64_t i = sizes_.length; i-- > 0;) {
      const std::int64_t t = walk.at(i);
      const bool follows = walk.follows(i);
      const std::int64_t before = follows ? walk.at(i - 1) : 0;
      const LstmBackwardStep<E> step{
          .at = position(t, saved.lengths),
          .gates = saved.gates[d] + t * sizes_.gates(),
          .gates_before = follows ? saved.gates[d] + before * sizes_.gates() : nullptr,
          .cells = saved.cells[d] + t * sizes_.hidden,
          .cells_before = follows ? saved.cells[d] + before * sizes_.hidden : nullptr,
          .h_before = saved.states[d] + t * sizes_.hidden,
          .dy = elements<E>(a.output_gradient) + output_at(t, d),
          .dh = has_behind ? scratch.dh : nullptr,
          .dc = scratch.dc,
          .sums = scratch.sums};
      each_sample([&](std::int64_t begin, std::int64_t end) {
        loops_.lstm_step_backward(step, begin, end);
      });
      if (follows) products_.state_gradient(packed, scratch.sums, scratch.dh, scratch.products);
      has_behind = follows;
    }
  }

  void narrow(const float* from, E* to) const {
    const std::int64_t count = sizes_.rows() * sizes_.width;
    parallel_ranges(count, kElementWork * count, [&](std::int64_t begin, std::int64_t end) {
      element_loops<E>().narrow(from + begin, to + begin, end - begin);
    });
  }

  const SequenceLoops<E>& loops_ = element_loops<E>().sequences;
  Lstm spec_;
  LstmSizes sizes_;
  std::size_t directions_;
  LstmProducts<E> products_;
};

}  // namespace

std::unique_ptr<Kernel> make_kernel(const Lstm& spec, Problem problem) {
  if (problem.multiplies_bf16) return std::make_unique<LstmKernel<Bf16>>(std::move(problem), spec);
  if (!is_bf16(problem)) return std::make_unique<LstmKernel<float>>(std::move(problem), spec);
  auto f32 = std::make_unique<LstmKernel<float>>(in_f32(problem), spec);
  return make_widened(std::move(problem), std::move(f32));
}

ParameterLayout parameter_layout(const Lstm&, const Problem& problem, int parameter) {
  return channel_parameter(problem.layer->parameters[parameter].shape.elements(), 1);
}

bool has_bf16_products(const Lstm&, const Problem&) { return true; }

std::size_t packed_bytes(const Lstm& spec, const Problem& problem, Pass pass) {
  const LstmSizes sizes = sizes_of(spec, problem);
  return directions_of(spec) * (problem.multiplies_bf16 ? lstm_packed_bytes<Bf16>(sizes, pass)
                                                        : lstm_packed_bytes<float>(sizes, pass));
}

void pack(const Lstm& spec, const Problem& problem, Pass pass,
          std::span<const void* const> parameters, void* packed) {
  const LstmSizes sizes = sizes_of(spec, problem);
  const std::size_t each = packed_bytes(spec, problem, pass) / directions_of(spec);
  for (std::size_t d = 0; d < directions_of(spec); ++d) {
    const LstmWeights weights = weights_of(spec, parameters, d);
    std::byte* const to = static_cast<std::byte*>(packed) + d * each;
    if (problem.multiplies_bf16)
      pack_lstm<Bf16>(problem.layer->name, sizes, pass, weights, to);
    else
      pack_lstm<float>(problem.layer->name, sizes, pass, weights, to);
  }
}

}  // namespace pipetrain::cpu
