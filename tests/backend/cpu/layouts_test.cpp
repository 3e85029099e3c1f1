// What the cpu backend stores differently from PyTorch, and that no caller can tell.
#include <cstring>
#include <memory>
#include <numeric>

#include "backend/cpu/cpu_backend.hpp"
#include "backend/cpu/layout.hpp"
#include "backend/harness.hpp"
#include "catch.hpp"
#include "graph/graph.hpp"

using namespace pipetrain;
using namespace pipetrain::testing;

namespace {

Graph conv_net(std::int64_t channels, std::int64_t outputs, std::int64_t groups) {
  return make_graph({3, 6, 6},
                    {{"stem", Conv2d{.out_channels = channels, .kernel = {1, 1}}, {channels, 6, 6}},
                     {"conv",
                      Conv2d{.out_channels = outputs, .kernel = {3, 3}, .groups = groups},
                      {outputs, 4, 4}},
                     {"bn", BatchNorm{}, {outputs, 4, 4}},
                     {"flat", Flatten{}, {outputs * 16}},
                     {"fc", Linear{.out_features = 37}, {37}}});
}

Floats counting(std::int64_t count) {
  Floats values(static_cast<std::size_t>(count));
  std::iota(values.begin(), values.end(), 1.0f);
  return values;
}

}  // namespace

TEST_CASE("parameters come back from the stored layout, and its padding is zeros", "[cpu]") {
  const auto backend = make_cpu_backend();
  const auto [channels, outputs, groups] = GENERATE(table<std::int64_t, std::int64_t, std::int64_t>(
      {{6, 16, 1}, {16, 32, 1}, {20, 20, 20}, {12, 6, 3}, {24, 48, 3}, {64, 64, 2}, {64, 64, 16}}));
  const Graph graph = conv_net(channels, outputs, groups);
  const auto lowering = backend->lower(graph, {.samples = 2});
  const auto stream = backend->make_stream({});
  for (int i = 0; i < static_cast<int>(graph.layers.size()); ++i) {
    const auto& parameters = graph.layers[static_cast<std::size_t>(i)].parameters;
    for (int p = 0; p < static_cast<int>(parameters.size()); ++p) {
      INFO(parameters[static_cast<std::size_t>(p)].name << ", groups " << groups);
      const Floats plain = counting(parameters[static_cast<std::size_t>(p)].shape.elements());
      Floats stored(lowering->parameter_bytes({i}, p) / sizeof(float), 7.0f), back(plain.size());
      lowering->load_parameter(*stream, {i}, p, plain.data(), stored.data());
      lowering->store_parameter(*stream, {i}, p, stored.data(), back.data());
      CHECK(back == plain);
      // Every value once, zeros elsewhere: so sums over the stored layout equal those over the
      // plain one.
      double of_plain = 0, of_stored = 0;
      for (const float value : plain) of_plain += static_cast<double>(value);
      for (const float value : stored) of_stored += static_cast<double>(value);
      CHECK(of_stored == of_plain);
    }
  }
}

TEST_CASE("a convolution's channels are filled up to blocks of 16, a vector's are not", "[cpu]") {
  const auto backend = make_cpu_backend();
  const Graph graph = conv_net(6, 16, 1);
  const auto lowering = backend->lower(graph, {.samples = 2});
  CHECK(lowering->value_bytes({0}, 2) == 2 * 3 * 36 * sizeof(float));   // plain: a conv reads it so
  CHECK(lowering->value_bytes({1}, 2) == 2 * 16 * 36 * sizeof(float));  // 6 channels in a block
  CHECK(lowering->value_bytes({5}, 2) == 2 * 37 * sizeof(float));
}

TEST_CASE("the image that is loaded is the image that is stored back", "[cpu]") {
  const auto backend = make_cpu_backend();
  const std::int64_t channels = GENERATE(1, 3, 5, 16, 17);
  const Graph graph = make_graph({channels, 4, 3}, {{"relu", Relu{}, {channels, 4, 3}}});
  const auto lowering = backend->lower(graph, {.samples = 2});
  const auto stream = backend->make_stream({});
  const Floats plain = counting(2 * channels * 12);
  Floats stored(lowering->value_bytes({0}, 2) / sizeof(float), 7.0f), back(plain.size());
  lowering->load_input(*stream, plain.data(), 2, stored.data());
  lowering->store_value(*stream, {0}, stored.data(), 2, back.data());
  CHECK(back == plain);
}

TEST_CASE("every element of many samples goes to its place and back", "[cpu]") {
  const std::int64_t channels = GENERATE(5, 16, 37), samples = 70;
  CAPTURE(channels);
  const cpu::ValueLayout layout = cpu::blocked_layout(Shape{{channels, 3, 5}});
  const Floats plain = counting(samples * layout.elements());
  Floats stored(static_cast<std::size_t>(samples * layout.stored_elements()), -1),
      back(plain.size());
  cpu::to_stored(layout, samples, plain.data(), stored.data());
  cpu::to_plain(layout, samples, stored.data(), back.data());
  CHECK(back == plain);
  Floats expected(stored.size(), 0);
  for (std::int64_t i = 0; i < std::ssize(plain); ++i) {
    const std::int64_t sample = i / layout.elements(), element = i % layout.elements();
    expected[static_cast<std::size_t>(sample * layout.stored_elements() +
                                      layout.position(element))] =
        plain[static_cast<std::size_t>(i)];
  }
  CHECK(stored == expected);
}

TEST_CASE("no packed copy is made of weights whose input gradient is not needed", "[cpu]") {
  const auto backend = make_cpu_backend();
  const auto lowering = backend->lower(conv_net(6, 16, 1), {.samples = 2});
  CHECK(lowering->packed_bytes({0}, Pass::Backward) == 0);
  CHECK(lowering->packed_bytes({1}, Pass::Backward) > 0);
  CHECK(lowering->packed_bytes({4}, Pass::Backward) > 0);
  CHECK(lowering->packed_bytes({4}, Pass::Forward) == 0);
}

TEST_CASE("relus cost nothing if a neighbour does their work", "[cpu]") {
  const auto backend = make_cpu_backend();
  const Graph graph =
      make_graph({3, 8, 8}, {{"conv", Conv2d{.out_channels = 4, .kernel = {1, 1}}, {4, 8, 8}},
                             {"relu1", Relu{}, {4, 8, 8}},
                             {"pool", MaxPool{{2, 2}, {2, 2}}, {4, 4, 4}},
                             {"bn", BatchNorm{}, {4, 4, 4}},
                             {"relu2", Relu{}, {4, 4, 4}},
                             {"flat", Flatten{}, {64}},
                             {"fc", Linear{.out_features = 5}, {5}},
                             {"relu3", Relu{}, {5}},
                             {"last", Linear{.out_features = 2}, {2}},
                             {"relu4", Relu{}, {2}}});
  const auto lowering = backend->lower(graph, {.samples = 2});
  const auto traits = [&](int layer) {
    return lowering->make_kernel({layer}, {.samples = 2, .mode = Mode::Train})->traits();
  };
  CHECK((traits(1).aliases_input && traits(1).aliases_gradient));  // max_pool masks
  CHECK((traits(4).aliases_input && traits(4).aliases_gradient));  // batch_norm masks
  CHECK((traits(5).aliases_input && traits(5).aliases_gradient));  // flatten
  CHECK((traits(7).aliases_input && traits(7).aliases_gradient));  // the linear layer masks
  CHECK(traits(8).backward_input_reads_inputs);
  CHECK(traits(9).aliases_input);
  CHECK_FALSE(traits(9).aliases_gradient);
  CHECK(traits(9).backward_input_reads_output);
}
