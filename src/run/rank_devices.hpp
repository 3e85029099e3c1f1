// Which GPUs the workers of one rank use.
#pragma once

#include <string>
#include <vector>

#include "base/ranks.hpp"
#include "config/config.hpp"

namespace pipetrain {

// What make_backend() takes, for hardware.backend = "cuda". hardware.devices has the workers of all
// ranks in their order; another rank's, which may be on another host, are replaced by one of this
// rank's. Where the config names none, a rank has the GPU of its number among the ranks of its
// host, `rank_here`, of the `gpus` that it sees.
std::vector<std::string> rank_devices(const Config& config, const Ranks& ranks, int rank_here,
                                      int gpus);

}  // namespace pipetrain
