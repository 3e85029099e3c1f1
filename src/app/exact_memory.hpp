// The memory that a candidate of the search will take, from the same pipeline that would train it.
#pragma once

#include <cstdint>
#include <vector>

#include "config/read.hpp"
#include "data/dataset.hpp"
#include "plan/search/candidate.hpp"

namespace pipetrain {

struct Graph;

// Writes the candidate into [pipeline], which then names a schedule; keys of other schedules go
// back to their defaults.
void put(const Candidate& candidate, const Graph& graph, Config& config);

// Bytes per worker in training: of the first copy of each of its stages. Compiles the pipeline;
// takes hardly any memory itself. UsageError if the schedule or a layer refuses the config.
std::vector<std::int64_t> exact_memory(const Candidate& candidate, const Config& config,
                                       const Graph& graph, const Dataset& train);

}  // namespace pipetrain
