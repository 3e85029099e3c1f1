// What crosses a cut. Any cut is legal: a value that a skip connection carries past several stages
// crosses each of their cuts, and its gradient comes back the same way.
#pragma once

#include <vector>

#include "base/ids.hpp"

namespace pipetrain {

struct Graph;

// The values that are made before the layer (the graph's input counts) and read at or after it,
// ascending.
std::vector<ValueId> values_crossing(const Graph& graph, LayerId first_of_next_stage);

// Their bytes as f32, for one sample.
std::int64_t crossing_bytes(const Graph& graph, LayerId first_of_next_stage);

}  // namespace pipetrain
