// Corner cases with values worked out by hand, the same on every backend.
#include <cmath>
#include <limits>

#include "cases.hpp"
#include "catch.hpp"
#include "graph/graph.hpp"

using namespace pipetrain;
using namespace pipetrain::testing;

namespace {

// One layer on given inputs. The targets are chosen so that the output's gradient is `gradient`.
Outcome layer_on(const std::string& backend, std::vector<std::int64_t> shape, LayerSpec spec,
                 std::vector<std::int64_t> output, const Floats& input, Named parameters = {},
                 Named buffers = {}) {
  Task task;
  task.graph = make_graph(std::move(shape), {{"layer", std::move(spec), output}});
  task.samples = static_cast<int>(std::ssize(input) / task.graph.input.elements());
  task.weighting = {std::move(parameters), std::move(buffers)};
  const std::int64_t elements = task.graph.layers[0].output.elements();
  task.loss_scale = static_cast<double>(elements) / 2;  // the gradient is output - target
  task.microbatches = {{.input = input,
                        .values = Floats(static_cast<std::size_t>(task.samples * elements), 0.0f),
                        .classes = {},
                        .random = {}}};
  return run(*make_backend(backend), task);
}

}  // namespace

TEST_CASE("max_pool: padding never wins over negative values", "[backend][backends]") {
  const std::string name = GENERATE(from_range(backend_names()));
  const auto out =
      layer_on(name, {1, 2, 2}, MaxPool{{3, 3}, {2, 2}, {1, 1}}, {1, 1, 1}, {-4, -3, -2, -5});
  CHECK(out.microbatches[0].output == Floats{-2});
  CHECK(out.microbatches[0].input_gradient == Floats{0, 0, -2, 0});
}

TEST_CASE("max_pool: the first of equal values gets the gradient", "[backend][backends]") {
  const std::string name = GENERATE(from_range(backend_names()));
  const auto out = layer_on(name, {1, 2, 2}, MaxPool{{2, 2}, {2, 2}}, {1, 1, 1}, {1, 3, 3, 3});
  CHECK(out.microbatches[0].input_gradient == Floats{0, 3, 0, 0});
}

TEST_CASE("max_pool: windows that share a maximum add up their gradients", "[backend][backends]") {
  const std::string name = GENERATE(from_range(backend_names()));
  const auto out = layer_on(name, {1, 1, 3}, MaxPool{{1, 2}, {1, 1}}, {1, 1, 2}, {1, 5, 2});
  CHECK(out.microbatches[0].output == Floats{5, 5});
  CHECK(out.microbatches[0].input_gradient == Floats{0, 10, 0});
}

TEST_CASE("avg_pool: padding counts as zeros", "[backend][backends]") {
  const std::string name = GENERATE(from_range(backend_names()));
  const auto out =
      layer_on(name, {1, 2, 2}, AvgPool{{2, 2}, {2, 2}, {1, 1}}, {1, 2, 2}, {4, 8, 12, 16});
  CHECK(out.microbatches[0].output == Floats{1, 2, 3, 4});
  CHECK(difference(out.microbatches[0].input_gradient, {0.25f, 0.5f, 0.75f, 1}) < 1e-6);
}

TEST_CASE("relu: 0 passes no gradient", "[backend][backends]") {
  const std::string name = GENERATE(from_range(backend_names()));
  const auto out = layer_on(name, {3}, Relu{}, {3}, {-1, 0, 2});
  CHECK(out.microbatches[0].output == Floats{0, 0, 2});
  CHECK(out.microbatches[0].input_gradient == Floats{0, 0, 2});
}

// oneDNN's relu, which the cpu backend fuses into a convolution, is max(x, 0): 0 for a NaN. The
// gradient still shows the NaN (docs/errors.md).
TEST_CASE("a relu that the layer before it applies hides no NaN", "[backend][backends]") {
  struct Before {
    const char* kind;
    std::vector<std::int64_t> shape;
    LayerSpec spec;
    Named parameters = {}, buffers = {};
    std::vector<std::string> inputs = {};
  };
  const std::string name = GENERATE(from_range(backend_names()));
  for (const Before& before :
       std::vector<Before>{{"linear",
                            {2},
                            Linear{.out_features = 2},
                            {{"layer.weight", {1, 0, 0, 1}}, {"layer.bias", {1, 1}}}},
                           {"conv2d",
                            {1, 1, 2},
                            Conv2d{.out_channels = 1, .kernel = {1, 1}, .bias = false},
                            {{"layer.weight", {1}}}},
                           {"batch_norm",
                            {1, 1, 2},
                            BatchNorm{},
                            {{"layer.weight", {1}}, {"layer.bias", {0}}},
                            {{"layer.running_mean", {0}}, {"layer.running_var", {1}}}},
                           {"add", {1, 1, 2}, Add{}, {}, {}, {"input", "input"}}}) {
    INFO(name << ", relu after " << before.kind);
    Task task;
    task.graph = make_graph(before.shape, {{"layer", before.spec, before.shape, before.inputs},
                                           {"relu", Relu{}, before.shape}});
    task.weighting = {before.parameters, before.buffers};
    const float nan = std::numeric_limits<float>::quiet_NaN();
    task.microbatches = {{.input = {nan, -3}, .values = {0, 0}, .classes = {}, .random = {}}};
    const Outcome out = run(*make_backend(name), task);
    if (name == "cpu" && before.kind == std::string("conv2d"))
      CHECK(std::isnan(out.gradients.at("layer.weight")[0]));
    else
      CHECK(std::isnan(out.microbatches[0].output[0]));
  }
}

TEST_CASE("relu: a NaN is not hidden", "[backend][backends]") {
  const std::string name = GENERATE(from_range(backend_names()));
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const auto out = layer_on(name, {2}, Relu{}, {2}, {nan, 1});
  CHECK(std::isnan(out.microbatches[0].output[0]));
}

TEST_CASE("conv2d: the kernel is not flipped, padding is zeros, groups stay apart",
          "[backend][backends]") {
  const std::string name = GENERATE(from_range(backend_names()));
  const auto row =
      layer_on(name, {1, 1, 3}, Conv2d{.out_channels = 1, .kernel = {1, 3}, .padding = {0, 1}},
               {1, 1, 3}, {1, 2, 3}, {{"layer.weight", {100, 10, 1}}, {"layer.bias", {1000}}});
  CHECK(row.microbatches[0].output == Floats{1012, 1123, 1230});
  const auto groups = layer_on(
      name, {2, 1, 1}, Conv2d{.out_channels = 4, .kernel = {1, 1}, .groups = 2, .bias = false},
      {4, 1, 1}, {1, 10}, {{"layer.weight", {1, 2, 3, 4}}});
  CHECK(groups.microbatches[0].output == Floats{1, 2, 30, 40});
  CHECK(groups.microbatches[0].input_gradient == Floats{1 + 4, 90 + 160});
  CHECK(groups.gradients.at("layer.weight") == Floats{1, 2, 300, 400});
}

TEST_CASE("batch_norm: biased variance to normalise, unbiased for the running one",
          "[backend][backends]") {
  const std::string name = GENERATE(from_range(backend_names()));
  const auto out = layer_on(name, {1}, BatchNorm{.eps = 0.25, .momentum = 0.5}, {1}, {1, 3, 5, 7},
                            {{"layer.weight", {2}}, {"layer.bias", {10}}},
                            {{"layer.running_mean", {1}}, {"layer.running_var", {3}}});
  const float scale = 2 / std::sqrt(5.25f);  // variance 20 / 4
  CHECK(difference(out.microbatches[0].output,
                   {10 - 3 * scale, 10 - scale, 10 + scale, 10 + 3 * scale}) < 1e-6);
  CHECK(out.buffers.at("layer.running_mean")[0] == Approx(2.5));
  CHECK(out.buffers.at("layer.running_var")[0] == Approx(0.5 * 3 + 0.5 * 20 / 3));
}

TEST_CASE("batch_norm: a large mean does not swamp the variance", "[backend][backends]") {
  const std::string name = GENERATE(from_range(backend_names()));
  const auto out = layer_on(name, {1}, BatchNorm{.eps = 0}, {1}, {4096, 4097, 4098, 4099},
                            {{"layer.weight", {1}}, {"layer.bias", {0}}},
                            {{"layer.running_mean", {0}}, {"layer.running_var", {1}}});
  const float scale = 1 / std::sqrt(1.25f);
  CHECK(difference(out.microbatches[0].output,
                   {-1.5f * scale, -0.5f * scale, 0.5f * scale, 1.5f * scale}) < 1e-4);
}

namespace {

// Attention with one head of one column over the rows of a table, which has [query, key, value] for
// each token; token 0 is padding. The targets make the output's gradient y - target.
Outcome padded_attention(const std::string& backend, std::vector<std::int32_t> tokens,
                         const Floats& table, float target, bool causal = false) {
  const std::int64_t length = std::ssize(tokens), vocabulary = std::ssize(table) / 3;
  Task task;
  task.graph = make_graph(
      Shape{{length}, vocabulary},
      {{"wte", Embedding{.embedding_dim = 3}, {length, 3}},
       {"attn", Attention{.causal = causal, .padding = 0}, {length, 1}, {"wte", "input"}}});
  task.weighting.parameters = {{"wte.weight", table}};
  task.loss_scale = static_cast<double>(length) / 2;
  task.microbatches = {{.input = {},
                        .values = Floats(static_cast<std::size_t>(length), target),
                        .classes = {},
                        .random = {},
                        .tokens = std::move(tokens)}};
  return run(*make_backend(backend), task);
}

}  // namespace

TEST_CASE("attention: keys at padding take no part, whatever they hold", "[backend][backends]") {
  const std::string name = GENERATE(from_range(backend_names()));
  const float log3 = std::log(3.0f), nan = std::numeric_limits<float>::quiet_NaN();
  // Three queries of 1; keys 0 and log 3 are seen, so a quarter of 8 and three quarters of 4.
  const Outcome out = padded_attention(name, {1, 0, 2}, {1, nan, nan, 1, 0, 8, 1, log3, 4}, 0);
  CHECK(difference(out.microbatches[0].output, {5, 5, 5}) < 1e-6);
  // dy = 5, dp = 40 and 20, ds = p (dp - 25) = 3.75 and -3.75 in each of three rows.
  const Floats& gradient = out.gradients.at("wte.weight");
  CHECK(difference(gradient, {-3.75f * log3, 0, 0, -3.75f * log3, 11.25f, 3.75f, -3.75f * log3,
                              -11.25f, 11.25f}) < 1e-6);
  CHECK(gradient[1] == 0);
  CHECK(gradient[2] == 0);
}

TEST_CASE("attention: if all keys are padding the output is 0, and no gradient flows",
          "[backend][backends]") {
  const std::string name = GENERATE(from_range(backend_names()));
  const Outcome out = padded_attention(name, {0, 0, 0}, {1, 2, 3}, 1);
  CHECK(out.microbatches[0].output == Floats{0, 0, 0});
  CHECK(out.gradients.at("wte.weight") == Floats{0, 0, 0});
  // Causal: the first position sees only padding, the second sees itself too.
  const Outcome causal = padded_attention(name, {0, 1}, {1, 2, 3, 4, 5, 6}, 1, true);
  CHECK(causal.microbatches[0].output == Floats{0, 6});
  CHECK(causal.gradients.at("wte.weight") == Floats{0, 0, 0, 0, 0, 5});
}

TEST_CASE("attention: the amount of padding at the end changes no bit", "[backend][backends]") {
  const std::string name = GENERATE(from_range(backend_names()));
  Floats table;
  for (int i = 0; i < 27; ++i) table.push_back(static_cast<float>(i * 29 % 17) / 8 - 1);
  const auto outputs = [&](std::size_t padding, bool causal) {
    std::vector<std::int32_t> tokens = {3, 1, 8, 8, 2};
    tokens.resize(tokens.size() + padding, 0);
    Floats y = padded_attention(name, tokens, table, 0, causal).microbatches[0].output;
    y.resize(5);
    return y;
  };
  for (const bool causal : {false, true})
    for (const std::size_t padding : {1, 12, 90})
      CHECK(outputs(padding, causal) == outputs(0, causal));
}
