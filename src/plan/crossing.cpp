#include "plan/crossing.hpp"

#include "graph/graph.hpp"

#include <set>

namespace pipetrain {

std::vector<ValueId> values_crossing(const Graph& graph, LayerId first_of_next_stage) {
  std::set<ValueId> crossing;
  for (std::size_t i = static_cast<std::size_t>(first_of_next_stage.value); i < graph.layers.size();
       ++i)
    for (const ValueId input : graph.layers[i].inputs)
      if (input <= ValueId{first_of_next_stage.value}) crossing.insert(input);
  return {crossing.begin(), crossing.end()};
}

std::int64_t crossing_bytes(const Graph& graph, LayerId first_of_next_stage) {
  std::int64_t bytes = 0;
  for (const ValueId value : values_crossing(graph, first_of_next_stage))
    bytes += graph.shape(value).elements() * static_cast<std::int64_t>(sizeof(float));
  return bytes;
}

}  // namespace pipetrain
