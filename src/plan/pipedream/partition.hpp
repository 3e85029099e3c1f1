// PipeDream's optimizer: the stages, and the number of replicas of each, that make the slowest
// stage as fast as possible. It works level by level, from the inside out: how long a group takes
// for a run of layers is found before groups of groups divide the model (SOSP 2019, section 3.1).
// Among equally fast partitions it takes one with the fewest stages on the outermost level.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "plan/pipedream/cost_model.hpp"
#include "plan/pipedream/cut_states.hpp"

namespace pipetrain {

struct PartitionRequest {
  std::vector<DeviceLevel> levels;  // from the inside out; at least one
  PipedreamCosts costs = PipedreamCosts::Paper;
  bool straight = false;                          // no stage has more than one replica
  std::optional<std::int64_t> memory_bytes = {};  // of a device
};

struct PartitionStage {
  int from = kNoLayers, to = 0;  // the states before and after it
  std::vector<int> devices;      // one per replica, numbered group by group
  double time_ms = 0;            // for a mini-batch, shared by the replicas
  double transfer_ms = 0;        // to the next stage and back
  double memory_bytes = 0;       // of a replica
};

// The partition with the smallest bottleneck: the largest time or transfer of any stage. All
// devices are used. None if there is no such partition: too few layers for a straight one, or too
// little memory.
std::optional<std::vector<PartitionStage>> fastest_partition(const CutStates& cuts,
                                                             const PartitionRequest& request);

// The partition whose largest stage takes the least memory, whatever the limit.
std::optional<std::vector<PartitionStage>> smallest_partition(const CutStates& cuts,
                                                              const PartitionRequest& request);

// About how many candidates either of them may have to try.
double candidates(const CutStates& cuts, const PartitionRequest& request);

}  // namespace pipetrain
