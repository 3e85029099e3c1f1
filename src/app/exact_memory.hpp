// The memory that a candidate of the search will hold, from the same pipeline that would train it.
#pragma once

#include <cstdint>
#include <vector>

#include "config/read.hpp"
#include "data/dataset.hpp"
#include "plan/search/candidate.hpp"

namespace pipetrain {

struct Graph;

// Writes the candidate into [pipeline], which becomes one of a schedule by name.
void put(const Candidate& candidate, const Graph& graph, PipelineConfig& pipeline);

// Bytes per worker: in training, for the first copy of each of its stages. Compiles it; takes
// hardly any memory. UsageError where the schedule or a layer refuses the config.
std::vector<std::int64_t> exact_memory(const Candidate& candidate, const Config& config,
                                       const Graph& graph, const Dataset& train);

}  // namespace pipetrain
