// How a training's stability is reported: in metrics.jsonl, on the console, and in a warning.
#pragma once

#include <optional>
#include <string>

#include <nlohmann/json_fwd.hpp>

#include "run/stability/stability.hpp"

namespace pipetrain {

nlohmann::ordered_json stability_event(const Stability& stability);

std::string stability_text(const Stability& stability);

// What to change if the margin is below 1 and the loss does not contradict that: a net can train
// for long with a margin just below 1, because its curvature falls again.
std::optional<std::string> stability_warning(const Stability& stability, const Config& config);

}  // namespace pipetrain
