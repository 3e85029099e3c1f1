// What the estimate counts and what it does not.
#include "plan/cost.hpp"

#include "catch.hpp"
#include "graph/read.hpp"

using namespace pipetrain;

namespace {

Graph network(const std::string& input, const std::string& layers) {
  return read_model_text(
      "loss = 'mse'\ninput = { shape = " + input + " }\nlayers = [" + layers + "]", "costs");
}

}  // namespace

TEST_CASE("a relu costs nothing where the layer before it applies it") {
  const Graph graph =
      network("[8, 6, 6]",
              "{ name = 'conv', kind = 'conv2d', out_channels = 8, kernel = 3, "
              "padding = 1 }, { name = 'relu1', kind = 'relu' },"
              "{ name = 'bn', kind = 'batch_norm' }, { name = 'relu2', kind = 'relu' },"
              "{ name = 'sum', kind = 'add', inputs = ['relu2', 'relu1'] },"
              "{ name = 'relu3', kind = 'relu' }, { name = 'relu4', kind = 'relu' }");
  const std::vector<double> costs = estimated_costs(graph, Convolving::Direct);
  CHECK(costs[1] == 0);
  CHECK(costs[3] == 0);
  CHECK(costs[5] > 0);  // a sum's relu masks the gradient in a pass of its own
  CHECK(costs[6] > 0);
}

TEST_CASE("a relu costs something where another layer reads what it rectifies") {
  const Graph graph =
      network("[8, 6, 6]",
              "{ name = 'bn', kind = 'batch_norm' }, { name = 'relu', kind = 'relu' },"
              "{ name = 'sum', kind = 'add', inputs = ['relu', 'bn'] }");
  CHECK(estimated_costs(graph, Convolving::Direct)[1] > 0);
}

TEST_CASE("nobody computes the gradient of the network's input") {
  const Graph graph = network("[64]",
                              "{ name = 'flatten', kind = 'flatten' },"
                              "{ name = 'fc1', kind = 'linear', out_features = 64 },"
                              "{ name = 'fc2', kind = 'linear', out_features = 64 }");
  const std::vector<double> costs = estimated_costs(graph, Convolving::Direct);
  CHECK(costs[2] - costs[1] == static_cast<double>(graph.layers[2].flops));
}

TEST_CASE("a convolution that minimal filtering pays for costs half of its products") {
  const auto saved = [](const std::string& convolution) {
    const Graph graph =
        network("[64, 8, 8]",
                "{ name = 'first', kind = 'conv2d', out_channels = 64, kernel = 1 },"
                "{ name = 'conv', kind = 'conv2d', out_channels = 64, bias = false, " +
                    convolution + " }");
    return estimated_costs(graph, Convolving::Direct)[1] -
           estimated_costs(graph, Convolving::Filtered)[1];
  };
  const double flops = 2.0 * 64 * 64 * 9 * 64, passes = 3;
  CHECK(saved("kernel = 3, padding = 1") == passes * flops / 2);
  CHECK(saved("kernel = 3, padding = 1, groups = 2") == 0);
  CHECK(saved("kernel = 3, padding = 1, stride = 2") == 0);
  CHECK(saved("kernel = 1") == 0);
}
