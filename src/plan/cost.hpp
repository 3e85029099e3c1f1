// What a layer costs before anything is measured: an estimate from its FLOPs, the bytes it moves
// and what the backend says about both, good enough to balance stages, not to predict a time.
#pragma once

#include <cstdint>
#include <vector>

#include "base/ids.hpp"
#include "graph/backend_costs.hpp"

namespace pipetrain {

struct Graph;
struct Layer;

// Estimates that differ by no more than this share do not show which is larger.
inline constexpr double kEstimateError = 0.05;

// By layer, for forward and backward of one sample, in FLOPs. A byte moved counts as the FLOPs that
// could be done in its time.
std::vector<double> estimated_costs(const Graph& graph, const BackendCosts& backend);

// The share of each that is its weight half: 0 for a layer that does not train, at least one FLOP
// for any other.
std::vector<double> estimated_weight_halves(const Graph& graph, const BackendCosts& backend);

// By layer, for one update with momentum. In the same unit.
std::vector<double> estimated_updates(const Graph& graph, const BackendCosts& backend);

// What each side of a cut pays for one sample: the sender for the values, the receiver for their
// gradients. In the same unit.
double estimated_crossing_cost(const Graph& graph, const BackendCosts& backend,
                               LayerId first_of_next_stage);

std::int64_t parameter_elements(const Layer& layer);
// Without other layers' parameters that it uses, so that over all layers each counts once.
std::int64_t owned_elements(const Layer& layer);

}  // namespace pipetrain
