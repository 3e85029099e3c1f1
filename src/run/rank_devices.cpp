#include "run/rank_devices.hpp"

#include <spdlog/fmt/fmt.h>

namespace pipetrain {

std::vector<std::string> rank_devices(const Config& config, const Ranks& ranks, int rank_here,
                                      int gpus) {
  const std::vector<std::string>& named = config.hardware.devices;
  if (ranks.count == 1) return named;
  if (named.empty()) return {fmt::format("cuda:{}", gpus > 0 ? rank_here % gpus : 0)};
  const int workers = worker_count(config.pipeline);
  int mine = 0;
  while (!ranks.has({mine}, workers)) ++mine;
  std::vector<std::string> devices;
  for (int w = 0; w < workers; ++w) {
    const auto worker = static_cast<std::size_t>(ranks.has({w}, workers) ? w : mine);
    devices.push_back(named[worker * named.size() / static_cast<std::size_t>(workers)]);
  }
  return devices;
}

}  // namespace pipetrain
