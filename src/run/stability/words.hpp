// How a training's stability is reported: in metrics.jsonl, on the console, and in a warning.
#pragma once

#include <cstdint>
#include <string>

#include <nlohmann/json_fwd.hpp>

#include "run/stability/stability.hpp"

namespace pipetrain {

nlohmann::ordered_json stability_event(const Stability& stability);

std::string stability_text(const Stability& stability);

// Is it to be warned of? Only if the loss rises too: a net can train for long with a margin just
// below 1, because its curvature falls again.
bool is_unstable(const Stability& stability);
// What to change, after this step.
std::string stability_warning(const Stability& stability, std::int64_t step, const Config& config);

}  // namespace pipetrain
