// What a run says of PipeMare's learning-rate rescheduling (T1) before its first step.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "run/session.hpp"

namespace pipetrain {

// Settles over how many updates T1 anneals where the config leaves that open: as many as an earlier
// start settled (`kept`), or a number that follows from the length. Returns lines for the console:
// that number where it is new, and each stage's rate factor, or why T1 does nothing. Empty where T1
// is off.
std::string settle_annealing(Config& config, std::optional<std::int64_t> kept,
                             const TrainingLength& length);

// Under the schedule's name, where the rates of its stages are annealed and the config is settled:
// anneal_steps, and per stage its delay in updates and the factor of its rate at the first
// asynchronous step.
void add_annealing(nlohmann::ordered_json& event, const Config& config,
                   const TrainingLength& length);

}  // namespace pipetrain
