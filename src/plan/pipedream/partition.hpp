// PipeDream's optimizer: the stages, and how many replicas of each, that make the slowest one as
// fast as can be. Level by level, from the inside out: what a group takes for a run of layers is
// found before groups of groups divide the model (SOSP 2019, section 3.1). Of those that
// are equally fast, one with the fewest stages of the outermost level is taken.
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
  bool straight = false;                          // no stage has two replicas
  std::optional<std::int64_t> memory_bytes = {};  // of a device
};

struct PartitionStage {
  int from = kNoLayers, to = 0;  // the states before and after it
  std::vector<int> devices;      // one per replica, numbered group by group
  double time_ms = 0;            // of a mini-batch, shared by the replicas
  double transfer_ms = 0;        // to the next stage and back
  double memory_bytes = 0;       // of a replica
};

// Its bottleneck: the largest time or transfer of a stage. All devices are used; nothing where
// there is no such partition: too few layers for a straight one, or too little memory.
std::optional<std::vector<PartitionStage>> fastest_partition(const CutStates& cuts,
                                                             const PartitionRequest& request);

// The one whose largest stage takes least memory, whatever the limit.
std::optional<std::vector<PartitionStage>> smallest_partition(const CutStates& cuts,
                                                              const PartitionRequest& request);

// Candidates that either of them may have to look at, roughly.
double candidates(const CutStates& cuts, const PartitionRequest& request);

}  // namespace pipetrain
