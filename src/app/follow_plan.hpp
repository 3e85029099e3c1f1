// pipeline.schedule = "auto": measures the model, plans it for this machine, and trains it as the
// plan says.
#pragma once

#include <filesystem>

#include "config/read.hpp"
#include "data/dataset.hpp"
#include "plan/proposal.hpp"

namespace pipetrain {

struct Graph;

// Writes the plan into those keys of [pipeline] that the config does not give; the config then
// names a schedule. Takes a profile that was measured before from the cache. UsageError if nothing
// fits.
Proposal follow_plan(ReadConfig& read, const Graph& graph, const Dataset& train);

// A resumed run keeps its plan: it is taken from the config of the checkpoint that --resume names,
// otherwise from that of the run's folder. Changes nothing if there is none.
void keep_plan(ReadConfig& read, const Graph& graph, const std::filesystem::path& folder,
               const std::string& resume);

}  // namespace pipetrain
