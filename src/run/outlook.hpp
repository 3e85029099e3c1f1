// What is known of a training before its first step, with no weight allocated: what --dry-run
// prints, and plan.json.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "run/session.hpp"

namespace pipetrain {

// model, parameters, schedule, microbatches, stages (as plan_json, with replicas where any),
// communication (forecast_json), how the rates are annealed (add_annealing), and per stage
// memory_bytes, which it holds in training, and validation_memory_bytes (0: no validation).
// UsageError where a stage does not fit in hardware.memory_limit.
nlohmann::ordered_json outlook(const CompiledPipeline& pipeline);

// The same UsageError alone.
void check_memory_limit(const CompiledPipeline& pipeline);

// What --dry-run adds: the data, the length, every layer with its shapes, memory by use, the
// program.
nlohmann::ordered_json outlook_details(const CompiledPipeline& pipeline, const Datasets& data,
                                       const TrainingLength& length);
std::string outlook_text(const CompiledPipeline& pipeline, const Datasets& data,
                         const TrainingLength& length);

}  // namespace pipetrain
