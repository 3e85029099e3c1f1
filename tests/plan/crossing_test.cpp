// What crosses a cut, on a hand graph and on random ones.
#include "plan/crossing.hpp"

#include <algorithm>

#include "base/rng.hpp"
#include "catch.hpp"
#include "graph/graph.hpp"

using namespace pipetrain;

namespace {

// Layers that only pass on values: layer i reads what `inputs[i]` names.
Graph graph_of(const std::vector<std::vector<int>>& inputs) {
  Graph graph;
  graph.input = {{2}};
  for (const std::vector<int>& values : inputs) {
    Layer layer;
    layer.spec = values.size() > 1 ? LayerSpec{Add{}} : LayerSpec{Identity{}};
    for (const int value : values) layer.inputs.push_back(ValueId{value});
    layer.output = {{2}};
    graph.layers.push_back(layer);
  }
  return graph;
}

std::vector<int> crossing(const Graph& graph, int cut) {
  std::vector<int> out;
  for (const ValueId value : values_crossing(graph, LayerId{cut})) out.push_back(value.value);
  return out;
}

}  // namespace

TEST_CASE("a skip connection crosses every cut that it spans, once") {
  const Graph graph = graph_of({{0}, {1}, {2}, {3, 1}, {4, 0}});
  CHECK(crossing(graph, 0) == std::vector<int>{0});
  CHECK(crossing(graph, 1) == std::vector<int>{0, 1});
  CHECK(crossing(graph, 2) == std::vector<int>{0, 1, 2});
  CHECK(crossing(graph, 3) == std::vector<int>{0, 1, 3});
  CHECK(crossing(graph, 4) == std::vector<int>{0, 4});
  CHECK(crossing_bytes(graph, LayerId{2}) == 3 * 2 * 4);
}

TEST_CASE("on random graphs a later stage has what it reads, and no value that nothing reads") {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    INFO("seed " << seed);
    Random random(seed, "crossing");
    std::vector<std::vector<int>> inputs;
    const auto layers = static_cast<int>(2 + random.below(20));
    for (int i = 0; i < layers; ++i) {
      std::vector<int> reads = {i};
      if (i > 0 && random.below(2) == 0)
        reads.push_back(static_cast<int>(random.below(static_cast<std::uint64_t>(i))));
      inputs.push_back(reads);
    }
    const Graph graph = graph_of(inputs);
    for (int cut = 1; cut < layers; ++cut) {
      const std::vector<int> values = crossing(graph, cut);
      CHECK(std::is_sorted(values.begin(), values.end()));
      for (int value = 0; value <= layers; ++value) {
        bool read_behind = false;
        for (int i = cut; i < layers; ++i)
          read_behind |= std::count(inputs[static_cast<std::size_t>(i)].begin(),
                                    inputs[static_cast<std::size_t>(i)].end(), value) > 0;
        const bool made_before = value <= cut;  // the input, or the output of layer value - 1
        CHECK((std::count(values.begin(), values.end(), value) == 1) ==
              (made_before && read_behind));
      }
      // What crosses a cut was on the stage before: it crossed the last cut or was made there.
      for (const int value : values) {
        const std::vector<int> before = crossing(graph, cut - 1);
        CHECK((value == cut || std::count(before.begin(), before.end(), value) == 1));
      }
    }
  }
}
