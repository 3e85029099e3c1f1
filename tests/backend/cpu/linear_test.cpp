// Linear layers of the cpu backend: different ways to the same bits.
#include <algorithm>
#include <array>
#include <memory>
#include <numeric>
#include <utility>

#include "backend/cpu/cpu_backend.hpp"
#include "backend/harness.hpp"
#include "catch.hpp"
#include "graph/graph.hpp"

using namespace pipetrain;
using namespace pipetrain::testing;

namespace {

Floats waves(std::size_t count, int seed) {
  Floats values(count);
  for (std::size_t i = 0; i < count; ++i)
    values[i] =
        static_cast<float>((i * 2654435761u + static_cast<unsigned>(seed) * 40503u) % 1999) /
            1000.0f -
        1.0f;
  return values;
}

// Values in panels of 32 outputs, each of `in` rows; those beyond `out` become zero.
Floats panels(Floats values, std::int64_t in, std::int64_t out) {
  for (std::size_t i = 0; i < values.size(); ++i)
    if (std::cmp_greater_equal(i / 32 / static_cast<std::size_t>(in) * 32 + i % 32, out))
      values[i] = 0;
  return values;
}

// The second of two linear layers, so that its input gradient is needed; optionally a relu between
// them.
struct Net {
  Net(std::int64_t in, std::int64_t out, int lowered_for, bool relu = false)
      : backend(make_cpu_backend()),
        graph(make_graph({in}, nodes(in, out, relu))),
        lowering(backend->lower(graph, {.samples = lowered_for})),
        stream(backend->make_stream({})),
        layer{static_cast<int>(graph.layers.size()) - 1} {
    for (int p = 0; p < 2; ++p)
      weights.push_back(panels(waves(lowering->parameter_bytes(layer, p) / sizeof(float), p),
                               p == 0 ? in : 1, out));
    packed.resize(lowering->packed_bytes(layer, Pass::Backward) / sizeof(float));
    if (!packed.empty()) lowering->pack(*stream, layer, Pass::Backward, pointers(), packed.data());
  }
  static std::vector<Node> nodes(std::int64_t in, std::int64_t out, bool relu) {
    std::vector<Node> nodes = {{"first", Linear{.out_features = in}, {in}}};
    if (relu) nodes.push_back({"relu", Relu{}, {in}});
    nodes.push_back({"fc", Linear{.out_features = out}, {out}});
    return nodes;
  }
  std::vector<const void*> pointers() const { return {weights[0].data(), weights[1].data()}; }

  std::unique_ptr<Backend> backend;
  Graph graph;
  std::unique_ptr<const Lowering> lowering;
  std::unique_ptr<Stream> stream;
  LayerId layer;
  std::vector<Floats> weights;
  Floats packed;
};

Floats input_gradient(const Net& net, int samples, const Floats& output_gradient, std::int64_t in,
                      const Floats& x = {}) {
  const auto kernel = net.lowering->make_kernel(net.layer, {.samples = samples});
  Floats gradient(static_cast<std::size_t>(samples * in)),
      scratch(kernel->traits().scratch_bytes / sizeof(float));
  const auto parameters = net.pointers();
  const void* const input = x.empty() ? nullptr : x.data();
  void* const result = gradient.data();
  kernel->backward_input({.stream = net.stream.get(),
                          .inputs = {&input, 1},
                          .output_gradient = output_gradient.data(),
                          .input_gradients = {&result, 1},
                          .weights = {parameters, net.packed.empty() ? nullptr : net.packed.data()},
                          .scratch = scratch.data(),
                          .random = {}});
  return gradient;
}

// Weights, biases, their moments and the gradients' sums of squares after one backward and update.
struct Updated {
  std::vector<Floats> weights, velocity;
  double squares[2] = {};
};

enum class How { Fused, Kernel, Backend };

// optimizer.decay = "matrices": the bias has a rule of its own.
UpdateRule without_decay(UpdateRule rule) {
  rule.weight_decay = 0;
  return rule;
}

Updated updated(Net& net, int samples, const UpdateRule& rule, bool accumulate, How how,
                std::int64_t in, std::int64_t out) {
  const auto kernel = net.lowering->make_kernel(net.layer, {.samples = samples});
  REQUIRE(kernel->traits().fuses_sgd);
  const Floats x = waves(static_cast<std::size_t>(samples * in), 3),
               dy = waves(static_cast<std::size_t>(samples * out), 4);
  Floats scratch(kernel->traits().scratch_bytes / sizeof(float));
  Updated state;
  std::vector<Floats> gradients;
  const std::array rules = {rule, without_decay(rule)};
  FusedUpdate update{.rules = rules, .parameters = {}};
  std::vector<UpdateArguments> arguments;
  for (int p = 0; p < 2; ++p) {
    const std::size_t count = net.weights[static_cast<std::size_t>(p)].size();
    const std::int64_t rows = p == 0 ? in : 1;
    state.weights.push_back(net.weights[static_cast<std::size_t>(p)]);
    state.velocity.push_back(panels(waves(count, 7), rows, out));
    gradients.push_back(panels(waves(count, 8), rows, out));
  }
  for (std::size_t p = 0; p < 2; ++p)
    arguments.push_back({.elements = std::ssize(gradients[p]),
                         .weights = state.weights[p].data(),
                         .new_weights = state.weights[p].data(),
                         .gradient = gradients[p].data(),
                         .first_moment = rule.momentum > 0 ? state.velocity[p].data() : nullptr,
                         .sum_of_squares = &state.squares[p]});
  update.parameters = arguments;
  const void* const input = x.data();
  void* const results[] = {gradients[0].data(), gradients[1].data()};
  kernel->backward_weight({.stream = net.stream.get(),
                           .inputs = {&input, 1},
                           .output_gradient = dy.data(),
                           .gradients = results,
                           .accumulate = accumulate,
                           .update = how == How::Fused ? &update : nullptr,
                           .scratch = scratch.data()});
  if (how == How::Kernel) kernel->update(*net.stream, update, scratch.data());
  if (how == How::Backend)
    for (std::size_t p = 0; p < 2; ++p) net.stream->apply(rules[p], arguments[p]);
  return state;
}

}  // namespace

TEST_CASE("a linear layer's fused update is its gradient's update, bit for bit", "[cpu]") {
  const int samples = GENERATE(1, 8, 64);
  const auto [in, out] =
      GENERATE(table<std::int64_t, std::int64_t>({{20, 33}, {7, 10}, {130, 64}}));
  const bool accumulate = GENERATE(false, true);
  const UpdateRule rule = GENERATE(UpdateRule{.lr = 0.1}, UpdateRule{.lr = 0.1, .momentum = 0.9},
                                   UpdateRule{.lr = 0.03, .momentum = 0.8, .weight_decay = 0.01},
                                   UpdateRule{.lr = 0.1, .momentum = 0.9, .nesterov = true});
  CAPTURE(samples, in, out, accumulate, rule.momentum, rule.nesterov);
  Net net(in, out, samples);
  const Updated apart = updated(net, samples, rule, accumulate, How::Backend, in, out),
                fused = updated(net, samples, rule, accumulate, How::Fused, in, out),
                later = updated(net, samples, rule, accumulate, How::Kernel, in, out);
  CHECK(fused.weights == later.weights);
  CHECK(fused.velocity == later.velocity);
  CHECK(std::ranges::equal(fused.squares, later.squares));
  CHECK(fused.weights == apart.weights);
  CHECK(fused.velocity == apart.velocity);
  CHECK(fused.weights[0] != net.weights[0]);
  for (int p = 0; p < 2; ++p) CHECK(fused.squares[p] == Approx(apart.squares[p]).epsilon(1e-12));
}

TEST_CASE("an input gradient of many samples has the bits of that of single ones", "[cpu]") {
  const int samples = GENERATE(32, 64);
  const auto [in, out] =
      GENERATE(table<std::int64_t, std::int64_t>({{16, 10}, {48, 70}, {160, 32}, {20, 33}}));
  CAPTURE(samples, in, out);
  const Net many(in, out, samples), single(in, out, 1);
  CHECK(many.packed.empty() == (in % 16 == 0));
  CHECK_FALSE(single.packed.empty());
  const Floats dy = waves(static_cast<std::size_t>(samples * out), 5);
  const Floats whole = input_gradient(many, samples, dy, in);
  const Floats other = input_gradient(single, samples, dy, in);  // lowered for another size
  CHECK(whole == other);
  for (int n = 0; n < samples; ++n) {
    const Floats row(dy.begin() + n * out, dy.begin() + (n + 1) * out);
    for (const Net* net : {&many, &single})
      REQUIRE(std::equal(whole.begin() + n * in, whole.begin() + (n + 1) * in,
                         input_gradient(*net, 1, row, in).begin()));
  }
}

TEST_CASE("a linear layer masks its input gradient as the relu before it would", "[cpu]") {
  const int samples = GENERATE(1, 14, 32);
  const std::int64_t in = GENERATE(20, 48), out = 33;
  CAPTURE(samples, in);
  const Floats dy = waves(static_cast<std::size_t>(samples * out), 5),
               x = waves(static_cast<std::size_t>(samples * in), 6);
  Floats expected = input_gradient(Net(in, out, samples), samples, dy, in);
  for (std::size_t i = 0; i < x.size(); ++i)
    if (!(x[i] > 0)) expected[i] = 0;
  CHECK(input_gradient(Net(in, out, samples, true), samples, dy, in, x) == expected);
}
