// Corner cases of the layers of recurrent translation, by hand and on every backend: where
// sequences end.
#include <cmath>
#include <limits>

#include "cases.hpp"
#include "catch.hpp"
#include "graph/graph.hpp"

using namespace pipetrain;
using namespace pipetrain::testing;

namespace {

// A layer of tokens, of which 0 is padding, on a table of their vectors. The output's gradient is
// output - target.
struct OnTokens {
  std::vector<std::int32_t> tokens;
  std::int64_t samples = 1;
  Floats table;
  std::int64_t width = 1;
  float target = 0;
};

Outcome run_on(const std::string& backend, const OnTokens& on, const LayerSpec& spec,
               std::int64_t out, const std::vector<std::string>& inputs, Named parameters) {
  const std::int64_t length = std::ssize(on.tokens) / on.samples,
                     vocabulary = std::ssize(on.table) / on.width;
  Task task;
  task.graph = make_graph(Shape{{length}, vocabulary},
                          {{"wte", Embedding{.embedding_dim = on.width}, {length, on.width}},
                           {"layer", spec, {length, out}, inputs}});
  task.samples = static_cast<int>(on.samples);
  parameters["wte.weight"] = on.table;
  task.weighting.parameters = std::move(parameters);
  task.loss_scale = static_cast<double>(length * out) / 2;
  const auto elements = static_cast<std::size_t>(on.samples * length * out);
  task.microbatches = {{.input = {},
                        .values = Floats(elements, on.target),
                        .classes = {},
                        .random = {},
                        .tokens = on.tokens}};
  return run(*make_backend(backend), task);
}

// Parameters of an lstm of one state whose i, f, o and g are all 1/2, whatever it reads.
Named halves(const std::string& suffix = "") {
  return {{"layer.weight_ih_l0" + suffix, Floats(4, 0)},
          {"layer.weight_hh_l0" + suffix, Floats(4, 0)},
          {"layer.bias_ih_l0" + suffix, {0, 0, std::atanh(0.5f), 0}},
          {"layer.bias_hh_l0" + suffix, Floats(4, 0)}};
}

float h_of(float cell) { return 0.5f * std::tanh(cell); }

Outcome lstm_on(const std::string& backend, const OnTokens& on, Lstm spec) {
  spec.hidden_size = 1;
  spec.padding = 0;
  Named parameters = halves();
  if (spec.bidirectional) parameters.merge(halves("_reverse"));
  return run_on(backend, on, spec, spec.bidirectional ? 2 : 1, {"wte", "input"},
                std::move(parameters));
}

bool all_zero(const Floats& values) {
  for (const float value : values)
    if (value != 0) return false;  // a NaN too
  return true;
}

}  // namespace

TEST_CASE("lstm: a sequence ends with its last token that is not padding", "[backend][backends]") {
  const std::string name = GENERATE(from_range(backend_names()));
  // Padding in the middle counts as any token; c goes 1/4, 3/8, 7/16.
  const OnTokens on{.tokens = {1, 0, 2, 0, 0}, .table = {1, 2, 3}};
  const float first = h_of(0.25f), second = h_of(0.375f), third = h_of(0.4375f);
  const auto output = [&](const Lstm& spec) {
    return lstm_on(name, on, spec).microbatches[0].output;
  };
  CHECK(difference(output({}), {first, second, third, 0, 0}) < 1e-6);
  const Floats reversed = output({.reverse = true});
  CHECK(difference(reversed, {third, second, first, 0, 0}) < 1e-6);
  CHECK(all_zero({reversed[3], reversed[4]}));
  CHECK(difference(output({.bidirectional = true}),
                   {first, third, second, second, third, first, 0, 0, 0, 0}) < 1e-6);
}

TEST_CASE("lstm: for padding alone outputs are 0, and no gradient flows", "[backend][backends]") {
  const std::string name = GENERATE(from_range(backend_names()));
  for (const bool both : {false, true}) {
    const Outcome out =
        lstm_on(name, {.tokens = {0, 0, 0}, .table = {3, 2}, .target = 1}, {.bidirectional = both});
    CHECK(all_zero(out.microbatches[0].output));
    for (const auto& [parameter, gradient] : out.gradients) {
      INFO(parameter);
      CHECK(all_zero(gradient));
    }
  }
}

TEST_CASE("lstm: the amount of padding at the end changes no bit", "[backend][backends]") {
  const std::string name = GENERATE(from_range(backend_names()));
  constexpr std::size_t hidden = 3, width = 2;
  const auto outputs = [&](std::size_t padding, bool reverse) {
    Named parameters;
    parameters["layer.weight_ih_l0"] = some_floats(4 * hidden * width, 1);
    parameters["layer.weight_hh_l0"] = some_floats(4 * hidden * hidden, 5);
    for (const char* bias : {"layer.bias_ih_l0", "layer.bias_hh_l0"})
      parameters[bias] = some_floats(4 * hidden, 7);
    OnTokens on{.tokens = {3, 1, 0, 2}, .table = some_floats(8, 3), .width = width};
    on.tokens.resize(on.tokens.size() + padding, 0);
    Floats y = run_on(name, on, Lstm{.hidden_size = hidden, .reverse = reverse, .padding = 0},
                      hidden, {"wte", "input"}, std::move(parameters))
                   .microbatches[0]
                   .output;
    y.resize(4 * hidden);
    return y;
  };
  for (const bool reverse : {false, true}) {
    const Floats without = outputs(0, reverse);
    for (const std::size_t padding : {1u, 9u}) CHECK(outputs(padding, reverse) == without);
  }
}

namespace {

// Queries, keys and values are all the same number; v is 1 where it is normalised to the length 1.
Outcome additive_on(const std::string& backend, const OnTokens& on, bool normalize) {
  Named parameters = {{"layer.linear_att", {normalize ? 7.0f : 1.0f}}};
  if (normalize) {
    parameters["layer.normalize_scalar"] = {1};
    parameters["layer.normalize_bias"] = {0};
  }
  return run_on(backend, on, AdditiveAttention{.normalize = normalize, .padding = 0}, 1,
                {"wte", "wte", "wte", "input"}, std::move(parameters));
}

}  // namespace

TEST_CASE("additive_attention: keys at padding take no part, whatever they hold",
          "[backend][backends]") {
  const std::string name = GENERATE(from_range(backend_names()));
  const float nan = std::numeric_limits<float>::quiet_NaN();
  for (const bool normalize : {true, false}) {
    const Outcome out = additive_on(name, {.tokens = {1, 0, 2}, .table = {nan, 0, 1}}, normalize);
    const Floats& y = out.microbatches[0].output;
    // The query of 0: scores 0 and tanh(1), values 0 and 1.
    CHECK(y[0] == Approx(1 / (1 + std::exp(-std::tanh(1.0)))));
    CHECK(y[2] == Approx(1 / (1 + std::exp(std::tanh(1.0) - std::tanh(2.0)))));
  }
}

TEST_CASE("additive_attention: if all keys are padding the output is 0, and no gradient flows",
          "[backend][backends]") {
  const std::string name = GENERATE(from_range(backend_names()));
  for (const bool normalize : {true, false}) {
    const Outcome out =
        additive_on(name, {.tokens = {0, 0}, .table = {5, 1}, .target = 1}, normalize);
    CHECK(all_zero(out.microbatches[0].output));
    for (const auto& [parameter, gradient] : out.gradients) {
      INFO(parameter);
      CHECK(all_zero(gradient));
    }
  }
}

TEST_CASE("additive_attention: the amount of padding at the end changes no bit",
          "[backend][backends]") {
  const std::string name = GENERATE(from_range(backend_names()));
  const auto outputs = [&](std::size_t padding) {
    OnTokens on{.tokens = {3, 1, 2, 2}, .table = some_floats(4, 3)};
    on.tokens.resize(on.tokens.size() + padding, 0);
    Floats y = additive_on(name, on, true).microbatches[0].output;
    y.resize(4);
    return y;
  };
  for (const std::size_t padding : {1u, 40u}) CHECK(outputs(padding) == outputs(0));
}
