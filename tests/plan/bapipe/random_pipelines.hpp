// Small random chains and clusters for BaPipe's tests. Times, bytes and bandwidths are such that
// sums and quotients are exact where they decide something: whether a transfer is hidden.
#pragma once

#include <string>

#include "base/rng.hpp"
#include "plan/cluster/cluster.hpp"
#include "plan/layer_chain.hpp"

namespace pipetrain {

inline LayerChain random_chain(Random& random, int layers) {
  LayerChain chain;
  const auto whole = [&](std::uint64_t below) { return static_cast<double>(random.below(below)); };
  for (int l = 0; l < layers; ++l) {
    ChainLayer layer{.name = "layer" + std::to_string(l),
                     .forward_ms = 1 + whole(12),
                     .backward_input_ms = whole(12),
                     .backward_weight_ms = whole(12)};
    layer.sent_bytes = static_cast<std::int64_t>(random.below(64));
    layer.saved_bytes = static_cast<std::int64_t>(random.below(20));
    layer.parameter_bytes = static_cast<std::int64_t>(random.below(30));
    chain.layers.push_back(layer);
  }
  return chain;
}

// Bytes per second that make a byte take a power of two of milliseconds.
inline Wire random_wire(Random& random) {
  constexpr double kPerMs[] = {0.5, 1, 2, 4, 8, 64};
  return {.bytes_per_second = 1000 * kPerMs[random.below(6)],
          .latency_ms = static_cast<double>(random.below(2)),
          .shared = random.below(4) == 0};
}

// One level, or two whose inner groups differ.
inline Cluster random_cluster(Random& random, int devices, Execution execution) {
  constexpr double kSpeeds[] = {0.5, 1, 1, 2, 3};
  Cluster cluster;
  for (int d = 0; d < devices; ++d) {
    Cluster::Device device{.name = "device" + std::to_string(d),
                           .speed = kSpeeds[random.below(5)],
                           .memory_bytes = {},
                           .execution = execution};
    if (random.below(2) == 0)
      device.memory_bytes = 40 + static_cast<std::int64_t>(random.below(300));
    cluster.devices.push_back(device);
  }
  if (devices >= 2 && random.below(2) == 0) {
    const int first = 1 + static_cast<int>(random.below(static_cast<std::uint64_t>(devices) - 1));
    cluster.levels.push_back({"inner", {first, devices - first}, random_wire(random)});
    cluster.levels.push_back({"outer", {2}, random_wire(random)});
  } else {
    cluster.levels.push_back({"all", {devices}, random_wire(random)});
  }
  return cluster;
}

}  // namespace pipetrain
