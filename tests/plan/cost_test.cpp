// What the estimate counts and what it does not.
#include "plan/cost.hpp"

#include "catch.hpp"
#include "even_costs.hpp"
#include "graph/graph.hpp"
#include "graph/read.hpp"

using namespace pipetrain;
using pipetrain::testing::even_costs;

namespace {

Graph network(const std::string& input, const std::string& layers) {
  return read_model_text(
      "loss = 'mse'\ninput = { shape = " + input + " }\nlayers = [" + layers + "]", "costs");
}

}  // namespace

TEST_CASE("no layer computes the gradient of the network's input") {
  const Graph graph = network("[64]",
                              "{ name = 'flatten', kind = 'flatten' },"
                              "{ name = 'fc1', kind = 'linear', out_features = 64 },"
                              "{ name = 'fc2', kind = 'linear', out_features = 64 }");
  const std::vector<double> costs = estimated_costs(graph, even_costs(graph));
  CHECK(costs[2] - costs[1] == static_cast<double>(graph.layers[2].flops));
}

TEST_CASE("a layer that trains has a weight half, as long as its forward") {
  Graph graph = network("[64]",
                        "{ name = 'fc', kind = 'linear', out_features = 64 },"
                        "{ name = 'relu', kind = 'relu' }");
  BackendCosts backend = even_costs(graph);
  backend.layers[0].computed = 0.5;
  const double half = static_cast<double>(graph.layers[0].flops) / 2;
  CHECK(estimated_weight_halves(graph, backend) == std::vector{half, 0.0});
  for (Parameter& parameter : graph.layers[0].parameters) parameter.trained = false;
  CHECK(estimated_weight_halves(graph, backend) == std::vector{0.0, 0.0});
}

TEST_CASE("a layer that trains without FLOPs has a weight half too") {
  const Graph graph = read_model_text(
      "input = { tokens = 4, vocabulary = 8 }\n"
      "layers = [ { name = 'wte', kind = 'embedding', embedding_dim = 4 } ]",
      "costs");
  CHECK(graph.layers[0].flops == 0);
  CHECK(estimated_weight_halves(graph, even_costs(graph)) == std::vector{1.0});
}

TEST_CASE("an update moves five values for each parameter that the layer owns and trains") {
  Graph graph = network("[64]",
                        "{ name = 'fc', kind = 'linear', out_features = 64 },"
                        "{ name = 'relu', kind = 'relu' }");
  const BackendCosts backend = even_costs(graph);
  const double bytes = 5.0 * (64 * 64 + 64) * sizeof(float);
  CHECK(estimated_updates(graph, backend) ==
        std::vector{bytes * (backend.compute_gflop_s / backend.memory_gb_s), 0.0});
  for (Parameter& parameter : graph.layers[0].parameters) parameter.trained = false;
  CHECK(estimated_updates(graph, backend) == std::vector{0.0, 0.0});
}

TEST_CASE("a layer's FLOPs and its bytes count by the shares that the backend gives") {
  const Graph graph = network("[64, 8, 8]",
                              "{ name = 'first', kind = 'conv2d', out_channels = 64, kernel = 1 },"
                              "{ name = 'conv', kind = 'conv2d', out_channels = 64, bias = false,"
                              "  kernel = 3, padding = 1 }");
  BackendCosts backend = even_costs(graph);
  const double whole = estimated_costs(graph, backend)[1];
  const double flops = 2.0 * 64 * 64 * 9 * 64, passes = 3;
  backend.layers[1].computed = 0.5;
  CHECK(whole - estimated_costs(graph, backend)[1] == passes * flops / 2);
  backend.layers[1].computed = 0;
  const double bytes = estimated_costs(graph, backend)[1];
  CHECK(bytes == whole - passes * flops);
  backend.layers[1].moved = 0.5;
  CHECK(estimated_costs(graph, backend)[1] == bytes / 2);
  backend.layers[1].moved = 0;
  CHECK(estimated_costs(graph, backend)[1] == 0);
  CHECK(estimated_costs(graph, backend)[0] == estimated_costs(graph, even_costs(graph))[0]);
}

TEST_CASE("bytes weigh as much as the arithmetic that is done in their time") {
  const Graph graph = network("[64]", "{ name = 'relu', kind = 'relu' }");
  BackendCosts backend = even_costs(graph);
  backend.layers[0].computed = 0;
  const double bytes = 3 * 2 * 64 * sizeof(float);
  CHECK(estimated_costs(graph, backend)[0] == bytes * 16);
  backend.memory_gb_s = 64;
  CHECK(estimated_costs(graph, backend)[0] == bytes * 4);
  CHECK(estimated_crossing_cost(graph, backend, LayerId{0}) == 64 * sizeof(float) * 32);
  backend.crossing_gb_s = 256;
  CHECK(estimated_crossing_cost(graph, backend, LayerId{0}) == 64 * sizeof(float));
}
