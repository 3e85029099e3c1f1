// pipeline.split = "auto", by measured times instead of estimates.
#pragma once

#include "config/read.hpp"
#include "data/dataset.hpp"

namespace pipetrain {

struct Graph;

// If this machine keeps a profile of the model, writes the split with the shortest predicted step
// into the config, and returns true. Only under a schedule that drains at every update: there no
// cut changes a bit, so it makes no difference to what is trained whether a profile is kept.
bool split_by_profile(ReadConfig& read, const Graph& graph, const Dataset& train);

}  // namespace pipetrain
