// Corners with values worked out by hand, the same on every backend.
#include <cmath>
#include <limits>

#include "cases.hpp"
#include "catch.hpp"

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

TEST_CASE("max_pool: the first of equals gets the gradient", "[backend][backends]") {
  const std::string name = GENERATE(from_range(backend_names()));
  const auto out = layer_on(name, {1, 2, 2}, MaxPool{{2, 2}, {2, 2}}, {1, 1, 1}, {1, 3, 3, 3});
  CHECK(out.microbatches[0].input_gradient == Floats{0, 3, 0, 0});
}

TEST_CASE("max_pool: windows that share a winner add up", "[backend][backends]") {
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

// On cpu a NaN may become 0 there, as its vector instructions have it; the layer before shows it.
TEST_CASE("a relu that the layer before does hides no NaN", "[backend][backends]") {
  const std::string name = GENERATE(from_range(backend_names()));
  if (name == "cpu") return;
  const float nan = std::numeric_limits<float>::quiet_NaN();
  Task task;
  task.graph = make_graph({2}, {{"fc", Linear{.out_features = 2}, {2}}, {"relu", Relu{}, {2}}});
  task.weighting.parameters = {{"fc.weight", {1, 0, 0, 1}}, {"fc.bias", {1, 1}}};
  task.microbatches = {{.input = {nan, -3}, .values = {0, 0}, .classes = {}, .random = {}}};
  const Floats output = run(*make_backend(name), task).microbatches[0].output;
  CHECK(std::isnan(output[0]));
}

TEST_CASE("relu: a NaN is not hidden", "[backend]") {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const auto out = layer_on("reference", {2}, Relu{}, {2}, {nan, 1});
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

TEST_CASE("batch_norm: a large mean does not eat the variance", "[backend][backends]") {
  const std::string name = GENERATE(from_range(backend_names()));
  const auto out = layer_on(name, {1}, BatchNorm{.eps = 0}, {1}, {4096, 4097, 4098, 4099},
                            {{"layer.weight", {1}}, {"layer.bias", {0}}},
                            {{"layer.running_mean", {0}}, {"layer.running_var", {1}}});
  const float scale = 1 / std::sqrt(1.25f);
  CHECK(difference(out.microbatches[0].output,
                   {-1.5f * scale, -0.5f * scale, 0.5f * scale, 1.5f * scale}) < 1e-4);
}
