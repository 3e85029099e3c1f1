// The profile that this machine keeps of a config's model.
#pragma once

#include <optional>

#include "config/config.hpp"
#include "data/dataset.hpp"
#include "plan/profile.hpp"

namespace pipetrain {

struct Graph;

// What `schedule = "auto"` or `pipetrain profile` has measured: all sizes of micro-batches and
// numbers of threads, or else just those of the config. Nothing if it was not measured.
std::optional<Profile> kept_profile(const Config& config, const Graph& graph, const Dataset& train);

}  // namespace pipetrain
