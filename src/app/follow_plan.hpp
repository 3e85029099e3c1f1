// pipeline.schedule = "auto": the model is measured, planned for this machine, and trained as the
// plan says.
#pragma once

#include <filesystem>

#include "config/read.hpp"
#include "data/dataset.hpp"
#include "graph/graph.hpp"
#include "plan/proposal.hpp"

namespace pipetrain {

// Writes the plan into the keys of [pipeline] that the config does not give, and makes the config
// one of a schedule by name. A profile that was measured before is taken from the cache. UsageError
// where nothing fits.
Proposal follow_plan(ReadConfig& read, const Graph& graph, const Dataset& train);

// The plan of a run that goes on stays as it is: what the folder's config says. False where there
// is none.
bool keep_plan(ReadConfig& read, const Graph& graph, const std::filesystem::path& folder);

}  // namespace pipetrain
