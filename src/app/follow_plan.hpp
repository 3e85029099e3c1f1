// pipeline.schedule = "auto": the model is measured, planned for this machine, and trained as the
// plan says.
#pragma once

#include <filesystem>

#include "config/read.hpp"
#include "data/dataset.hpp"
#include "plan/proposal.hpp"

namespace pipetrain {

struct Graph;

// Writes the plan into the keys of [pipeline] that the config does not give, and makes the config
// one of a schedule by name. A profile that was measured before is taken from the cache. UsageError
// where nothing fits.
Proposal follow_plan(ReadConfig& read, const Graph& graph, const Dataset& train);

// A resumed run keeps its plan: the config of the checkpoint that --resume names, else that of the
// run's folder. Nothing changes if there is none.
void keep_plan(ReadConfig& read, const Graph& graph, const std::filesystem::path& folder,
               const std::string& resume);

}  // namespace pipetrain
