// What a layer costs before anything was measured: an estimate from its FLOPs, the bytes it moves
// and what the backend says of both, good enough to balance stages, not to predict a time.
#pragma once

#include <cstdint>
#include <vector>

#include "base/ids.hpp"
#include "graph/backend_costs.hpp"

namespace pipetrain {

struct Graph;
struct Layer;

// Estimates that differ by no more than this share say nothing of which is larger.
inline constexpr double kEstimateError = 0.05;

// By layer, forward and backward of one sample, in FLOPs; a byte moved counts as the FLOPs that are
// done in its time.
std::vector<double> estimated_costs(const Graph& graph, const BackendCosts& backend);

// What either side of a cut pays for one sample: the sender for the values, the receiver for their
// gradients. In the same unit.
double estimated_crossing_cost(const Graph& graph, const BackendCosts& backend,
                               LayerId first_of_next_stage);

std::int64_t parameter_elements(const Layer& layer);
// Without those of other layers that it uses: over all layers each parameter counts once.
std::int64_t owned_elements(const Layer& layer);

}  // namespace pipetrain
