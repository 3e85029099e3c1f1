// What is known about a training before its first step, without allocating weights: for --dry-run
// and plan.json.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "run/session.hpp"

namespace pipetrain {

// model, parameters, schedule, microbatches, stages (as plan_json, with replicas if any),
// communication (forecast_json), how the rates are annealed (add_annealing), and per stage
// memory_bytes, held in training, and validation_memory_bytes (0: no validation). UsageError if a
// stage does not fit into hardware.memory_limit.
nlohmann::ordered_json outlook(const CompiledPipeline& pipeline);

// Only checks the limit, with that UsageError.
void check_memory_limit(const CompiledPipeline& pipeline);

// What --dry-run adds: the data, the length, every layer with its shapes, memory by use, and the
// program.
nlohmann::ordered_json outlook_details(const CompiledPipeline& pipeline, const Datasets& data,
                                       const TrainingLength& length);
std::string outlook_text(const CompiledPipeline& pipeline, const Datasets& data,
                         const TrainingLength& length);

}  // namespace pipetrain
