// What a run reports about PipeMare's learning-rate rescheduling (T1) before its first step.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "run/session.hpp"

namespace pipetrain {

// Decides over how many updates T1 anneals, if the config leaves that open: as many as an earlier
// start chose (`kept`), or a number that follows from the length. Returns lines for the console:
// that number if it is new, and each stage's rate factor, or why T1 has no effect. Empty if T1 is
// off.
std::string settle_annealing(Config& config, std::optional<std::int64_t> kept,
                             const TrainingLength& length);

// If the rates of the stages are annealed and settle_annealing() has been called, adds under the
// schedule's name: anneal_steps, and per stage its delay in updates and the factor of its rate at
// the first asynchronous step.
void add_annealing(nlohmann::ordered_json& event, const Config& config,
                   const TrainingLength& length);

}  // namespace pipetrain
