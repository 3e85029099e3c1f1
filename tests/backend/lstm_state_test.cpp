// An lstm that is given back the state that it left: a sequence run position by position equals the
// sequence run at once.
#include "backends.hpp"
#include "catch.hpp"
#include "device_memory.hpp"
#include "graph/graph.hpp"
#include "harness.hpp"

using namespace pipetrain;
using namespace pipetrain::testing;

namespace {

constexpr std::int64_t width = 5;

// The layer over sequences of one length, evaluated.
class OneLayer {
 public:
  OneLayer(Backend& backend, const Lstm& spec, std::int64_t length, const LowerOptions& options)
      : samples_(options.samples),
        graph_(make_graph({length, width}, {{"layer", spec, {length, spec.hidden_size}}})),
        lowering_(backend.lower(graph_, options)),
        kernel_(lowering_->make_kernel({0}, {.samples = samples_, .mode = Mode::Evaluate})),
        memory_(backend),
        input_(memory_.take(lowering_->value_bytes({0}, samples_))),
        output_(memory_.take(lowering_->value_bytes({1}, samples_))),
        scratch_(memory_.take(kernel_->traits().scratch_bytes)),
        saved_(memory_.take(kernel_->traits().saved_bytes)),
        packed_(memory_.take(lowering_->packed_bytes({0}, Pass::Forward))) {
    for (int p = 0; p < std::ssize(graph_.layers[0].parameters); ++p) {
      const Shape& shape = graph_.layers[0].parameters[static_cast<std::size_t>(p)].shape;
      const Floats plain =
          some_floats(static_cast<std::size_t>(shape.elements()), static_cast<std::size_t>(p) + 1);
      void* const stored = memory_.take(lowering_->parameter_bytes({0}, p));
      lowering_->load_parameter(memory_.stream(), {0}, p, plain.data(), stored);
      parameters_.push_back(stored);
    }
    if (packed_) lowering_->pack(memory_.stream(), {0}, Pass::Forward, parameters_, packed_);
  }

  // x: [samples, T, width]; [samples, T, hidden].
  Floats forward(const Floats& x, std::span<void* const> state = {}) {
    lowering_->load_input(memory_.stream(), x.data(), samples_, input_);
    const std::vector<const void*> inputs = {input_};
    kernel_->forward({.stream = &memory_.stream(),
                      .inputs = inputs,
                      .output = output_,
                      .weights = {parameters_, packed_},
                      .buffers = {},
                      .saved = saved_,
                      .scratch = scratch_,
                      .random = {},
                      .state = state});
    Floats y(static_cast<std::size_t>(samples_ * graph_.layers[0].output.elements()));
    lowering_->store_value(memory_.stream(), {1}, output_, samples_, y.data());
    return y;
  }
  // Zeros, as at the start of a sequence.
  std::vector<void*> state() {
    std::vector<void*> state;
    for (const std::size_t bytes : kernel_->traits().state_bytes)
      state.push_back(memory_.take(bytes));
    return state;
  }

 private:
  int samples_;
  Graph graph_;
  std::unique_ptr<const Lowering> lowering_;
  std::unique_ptr<Kernel> kernel_;
  DeviceMemory memory_;
  void *input_, *output_, *scratch_, *saved_, *packed_;
  std::vector<const void*> parameters_;
};

// The values of each sample at one position.
Floats position_of(const Floats& values, std::size_t samples, std::size_t each, std::size_t t) {
  Floats out;
  const std::size_t of_sample = values.size() / samples;
  for (std::size_t n = 0; n < samples; ++n)
    out.insert(out.end(), values.begin() + static_cast<std::ptrdiff_t>(n * of_sample + t * each),
               values.begin() + static_cast<std::ptrdiff_t>(n * of_sample + (t + 1) * each));
  return out;
}

}  // namespace

TEST_CASE("lstm: running position by position with its state equals running the sequence at once",
          "[backend][backends]") {
  const std::string name = GENERATE(from_range(backend_names()));
  const Precision precision = GENERATE(Precision::F32, Precision::Bf16);
  if (precision == Precision::Bf16 && name != "cpu") return;
  const std::int64_t hidden = GENERATE(3, 32);  // less than a vector, and whole ones
  const bool bias = GENERATE(true, false);
  INFO(name << (precision == Precision::Bf16 ? " bf16" : "") << ", " << hidden << " states, bias "
            << bias);
  constexpr std::size_t samples = 3, length = 4;
  const auto backend = make_backend(name);
  const Lstm spec{.hidden_size = hidden, .bias = bias};
  const LowerOptions options{.samples = samples, .precision = precision};
  OneLayer whole(*backend, spec, length, options), one(*backend, spec, 1, options);
  const auto agree = [&](const Floats& a, const Floats& b) {
    // For another number of rows a device's library may add up products in another order.
    return name == "cuda" ? difference(a, b) < 1e-5 : a == b;
  };
  for (const std::size_t seed : {2u, 9u}) {  // another sequence begins with zeros again
    const Floats x = some_floats(samples * length * width, seed), y = whole.forward(x);
    const std::vector<void*> state = one.state();
    REQUIRE(state.size() == 2);
    for (std::size_t t = 0; t < length; ++t) {
      INFO("position " << t);
      const Floats now = one.forward(position_of(x, samples, width, t), state),
                   then = position_of(y, samples, static_cast<std::size_t>(hidden), t);
      CHECK(agree(now, then));
    }
    CHECK(agree(one.forward(position_of(x, samples, width, 0)),  // without a state
                position_of(y, samples, static_cast<std::size_t>(hidden), 0)));
  }
}

TEST_CASE("lstm: only one that runs forwards, evaluated at one position, can be given a state",
          "[backend][backends]") {
  const auto backend = make_backend(GENERATE(from_range(backend_names())));
  const auto takes_state = [&](const Lstm& spec, std::int64_t length, Mode mode) {
    const std::int64_t out = spec.bidirectional ? 6 : 3;
    const bool padded = spec.padding >= 0;
    std::vector<Node> nodes;
    if (padded) nodes.push_back({"wte", Embedding{.embedding_dim = width}, {length, width}});
    nodes.push_back({"layer", spec, {length, out}});
    if (padded) nodes.back().inputs = {"wte", "input"};
    const Graph graph = make_graph(padded ? Shape{{length}, 7} : Shape{{length, width}}, nodes);
    const auto lowering = backend->lower(graph, {.samples = 2});
    const auto kernel = lowering->make_kernel({padded ? 1 : 0}, {.samples = 2, .mode = mode});
    return !kernel->traits().state_bytes.empty();
  };
  const Lstm forward{.hidden_size = 3};
  CHECK(takes_state(forward, 1, Mode::Evaluate));
  CHECK_FALSE(takes_state(forward, 1, Mode::Train));
  CHECK_FALSE(takes_state(forward, 2, Mode::Evaluate));
  CHECK_FALSE(takes_state({.hidden_size = 3, .reverse = true}, 1, Mode::Evaluate));
  CHECK_FALSE(takes_state({.hidden_size = 3, .bidirectional = true}, 1, Mode::Evaluate));
  CHECK_FALSE(takes_state({.hidden_size = 3, .padding = 0}, 1, Mode::Evaluate));
}
