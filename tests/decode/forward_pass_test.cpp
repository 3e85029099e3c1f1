// One sample through a whole model: a table of bigrams whose output is known.
#include "decode/forward_pass.hpp"

#include <vector>

#include "catch.hpp"
#include "graph/graph.hpp"
#include "graph/read.hpp"

using namespace pipetrain;

TEST_CASE("a forward pass gives each position's outputs, call by call", "[generate]") {
  const Graph graph = read_model_text(R"(
input = { tokens = 3, vocabulary = 4 }
layers = [ { name = "wte", kind = "embedding", embedding_dim = 2 },
           { name = "head", kind = "linear", out_features = 4 } ]
)",
                                      "bigrams");
  NamedTensors tensors = initial_parameters(graph, 1);
  floats(tensors, "wte.weight") = {1, 0, 0, 1, 2, 0, 0, 3};
  floats(tensors, "head.weight") = {1, 10, 2, 20, 3, 30, 4, 40};
  floats(tensors, "head.bias") = {0, 0, 0, 0.5f};
  const auto backend = make_backend("reference");
  ForwardPass pass({graph, *backend, {}}, tensors);
  const std::vector<std::int32_t> tokens = {0, 3, 2};
  const auto first = pass.run(tokens);
  CHECK(std::vector<float>(first.begin(), first.end()) ==
        std::vector<float>{1, 2, 3, 4.5f, 30, 60, 90, 120.5f, 2, 4, 6, 8.5f});
  const std::vector<std::int32_t> others = {1, 1, 0};
  const auto second = pass.run(others);
  CHECK(second[0] == 10);
  CHECK(second[8] == 1);
}
