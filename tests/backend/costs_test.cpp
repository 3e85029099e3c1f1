// What each backend says that layers cost; models are cut into stages by these costs.
#include "backend/backend.hpp"
#include "backend/cpu/cpu_backend.hpp"
#include "backend/cpu/instruction_set.hpp"
#include "backends.hpp"
#include "catch.hpp"
#include "graph/graph.hpp"
#include "graph/read.hpp"

using namespace pipetrain;

namespace {

Graph network(const std::string& input, const std::string& layers) {
  return read_model_text(
      "loss = 'mse'\ninput = { shape = " + input + " }\nlayers = [" + layers + "]", "costs");
}

const std::string relus =
    "{ name = 'conv', kind = 'conv2d', out_channels = 8, kernel = 3, padding = 1 },"
    "{ name = 'relu1', kind = 'relu' }, { name = 'bn', kind = 'batch_norm' },"
    "{ name = 'relu2', kind = 'relu' }, { name = 'sum', kind = 'add', inputs = ['relu2', 'relu1'] "
    "},"
    "{ name = 'relu3', kind = 'relu' }, { name = 'relu4', kind = 'relu' },"
    "{ name = 'flatten', kind = 'flatten' }, { name = 'as_it_is', kind = 'identity' }";

BackendCosts costs_of(const std::string& backend, const Graph& graph) {
  return make_backend(backend)->costs(graph, Precision::F32);
}

// By layer. If another layer does a part of its computation, it moves that much less too.
std::vector<double> shares(const BackendCosts& costs) {
  std::vector<double> all;
  for (const BackendCosts::LayerShares& layer : costs.layers) {
    CHECK(layer.computed == layer.moved);
    all.push_back(layer.moved);
  }
  return all;
}

}  // namespace

TEST_CASE("every backend gives a cost for every layer, and views cost nothing", "[backends]") {
  const std::string name = GENERATE(from_range(testing::backend_names()));
  INFO(name);
  const BackendCosts costs = costs_of(name, network("[8, 6, 6]", relus));
  REQUIRE(costs.layers.size() == 9);
  CHECK(costs.layers[0].computed == 1);
  CHECK(costs.layers[7] == BackendCosts::LayerShares{.computed = 0, .moved = 0});
  CHECK(costs.layers[8] == BackendCosts::LayerShares{.computed = 0, .moved = 0});
  CHECK(costs.compute_gflop_s > 0);
  CHECK(costs.memory_gb_s >= costs.crossing_gb_s);
  // On a GPU every relu has its own backward; a sum applies its relu in the forward too.
  if (name == "cuda") CHECK(shares(costs) == std::vector<double>{1, 0.5, 1, 0.5, 1, 0.5, 1, 0, 0});
}

TEST_CASE("the reference computes every layer that is not a view") {
  CHECK(shares(costs_of("reference", network("[8, 6, 6]", relus))) ==
        std::vector<double>{1, 1, 1, 1, 1, 1, 1, 0, 0});
}

TEST_CASE("on the CPU a relu costs nothing if the layer before it applies it") {
  // A sum's relu masks the gradient in a pass of its own.
  CHECK(shares(costs_of("cpu", network("[8, 6, 6]", relus))) ==
        std::vector<double>{1, 0, 1, 0, 1, 1, 1, 0, 0});
}

TEST_CASE("on the CPU a relu costs something if another layer reads its input") {
  const Graph graph =
      network("[8, 6, 6]",
              "{ name = 'bn', kind = 'batch_norm' }, { name = 'relu', kind = 'relu' },"
              "{ name = 'sum', kind = 'add', inputs = ['relu', 'bn'] }");
  CHECK(shares(costs_of("cpu", graph)) == std::vector<double>{1, 1, 1});
}

TEST_CASE("on the CPU a relu after a linear layer costs nothing only where that applies it") {
  const auto linear = [](const std::string& more) {
    return "kind = 'linear', out_features = 8" + more + " }, { name = 'relu', kind = 'relu' }";
  };
  const Graph vectors = network("[8]", "{ name = 'fc', " + linear("")),
              rows = network("[4, 8]", "{ name = 'fc', " + linear("")),
              tied = network("[8]", "{ name = 'first', kind = 'linear', out_features = 8 }," +
                                        ("{ name = 'second', " + linear(", tied = 'first'")));
  CHECK(shares(costs_of("cpu", vectors)) == std::vector<double>{1, 0});
  CHECK(shares(costs_of("cpu", rows)) == std::vector<double>{1, 1});
  CHECK(shares(costs_of("cpu", tied)) == std::vector<double>{1, 1, 1});
  const auto backend = make_backend("cpu");
  for (const Graph* graph : {&vectors, &rows, &tied}) {
    const LayerId relu{static_cast<int>(graph->layers.size()) - 1};
    const auto kernel = backend->lower(*graph, {.samples = 2})->make_kernel(relu, {.samples = 2});
    CHECK(kernel->traits().aliases_input == (graph == &vectors));
  }
}

TEST_CASE("a convolution that gains from Winograd costs half, given AVX-512") {
  const auto products = GENERATE(cpu::Products::F32, cpu::Products::Bf16, cpu::Products::Tiles);
  CAPTURE(static_cast<int>(products));
  const auto backend = make_cpu_backend(products);
  const auto computed = [&](const std::string& convolution, Precision precision) {
    const Graph graph =
        network("[64, 16, 16]",
                "{ name = 'conv', kind = 'conv2d', out_channels = 64, " + convolution + " }");
    const BackendCosts costs = backend->costs(graph, precision);
    CHECK(costs.layers[0].moved == 1);
    // The kernel is that which the costs speak of: by Winograd it reads 16 points, not 9 taps.
    constexpr std::size_t points = std::size_t{16} * 64 * 64 * sizeof(float);
    const auto lowering = backend->lower(graph, {.samples = 2, .precision = precision});
    CHECK((lowering->packed_bytes({0}, Pass::Forward) == points) ==
          (costs.layers[0].computed == 0.5));
    return costs.layers[0].computed;
  };
  const std::string suited = "kernel = 3, padding = 1";
  const double half = cpu::has_avx512() ? 0.5 : 1;
  CHECK(computed(suited, Precision::F32) == half);
  CHECK(computed(suited, Precision::Bf16) == (products == cpu::Products::Bf16 ? 1 : half));
  CHECK(computed(suited + ", groups = 2", Precision::F32) == 1);
  CHECK(computed(suited + ", stride = 2", Precision::F32) == 1);
  CHECK(computed("kernel = 1", Precision::F32) == 1);
}

TEST_CASE("a padded convolution of small images costs more, given AVX2") {
  const auto computed = [](const std::string& size, const std::string& convolution) {
    const Graph graph =
        network("[16, " + size + ", " + size + "]",
                "{ name = 'conv', kind = 'conv2d', out_channels = 16, " + convolution + " }");
    return make_backend("cpu")->costs(graph, Precision::F32).layers[0].computed;
  };
  const bool avx2 = cpu::instruction_set() == cpu::InstructionSet::Avx2;
  const std::string padded = "kernel = 3, padding = 1";
  CHECK(computed("2", padded) == (avx2 ? 1.5 : 1));
  CHECK(computed("4", padded) == (avx2 ? 1.15 : 1));
  CHECK(computed("8", padded) == 1);
  CHECK(computed("2", "kernel = 1") == 1);
}

TEST_CASE("narrower vectors make memory count for less") {
  const BackendCosts costs = costs_of("cpu", network("[8]", "{ name = 'relu', kind = 'relu' }"));
  const double flops_per_byte = costs.compute_gflop_s / costs.memory_gb_s;
  using cpu::InstructionSet;
  const InstructionSet set = cpu::instruction_set();
  CHECK(flops_per_byte == (set >= InstructionSet::Avx512 ? 16
                           : set == InstructionSet::Avx2 ? 8
                                                         : 4));
  CHECK(costs.memory_gb_s == 2 * costs.crossing_gb_s);
}
