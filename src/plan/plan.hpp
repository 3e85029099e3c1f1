// Where each layer runs: contiguous stages, in the order of the graph.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "base/ids.hpp"
#include "base/indexed.hpp"
#include "config/config.hpp"
#include "graph/backend_costs.hpp"

namespace pipetrain {

struct Graph;

struct StagePlan {
  LayerId first, last;                // inclusive
  std::int64_t parameters = 0;        // elements
  std::int64_t flops = 0;             // of the forward of one sample
  std::int64_t activation_bytes = 0;  // outputs of its layers, one sample, f32
  std::int64_t received_bytes = 0;    // from the previous stage (stage 0: input), one sample, f32
  std::int64_t sent_bytes = 0;        // to the next stage (the last: 0), one sample, f32
};

struct Plan {
  Indexed<StagePlan, StageId> stages;  // every layer of the graph is in exactly one
};

// Cuts the graph by `pipeline.split` into `pipeline.stages`; "auto" weighs layers by what they cost
// the backend. Throws a UsageError if that is not possible.
Plan make_plan(const Graph& graph, const Config& config, const BackendCosts& backend);

// Layer 0 and the layers with these names, where a block's name is its first layer's: the first
// layer of each stage. Throws a UsageError if there is no such layer, or for another order.
std::vector<int> named_cuts(const Graph& graph, const std::vector<std::string>& names);

// The plan with stage s beginning at firsts[s]; firsts[0] is layer 0.
Plan plan_from_cuts(const Graph& graph, const std::vector<int>& firsts);

StageId stage_of(const Plan& plan, LayerId layer);

// Stages with a layer that uses another layer's parameter, or whose parameter another layer uses.
std::set<StageId> tied_stages(const Graph& graph, const Plan& plan);

// plan.json: layers, parameters, FLOPs and bytes of each stage, and what crosses each cut.
nlohmann::json plan_json(const Graph& graph, const Plan& plan);
// The same as an aligned table that ends in a newline, for users to see once at the start.
std::string plan_text(const Graph& graph, const Plan& plan);

}  // namespace pipetrain
