// Contiguous splits whose stages have replicas, as candidates of the search: for each number of
// stages, one whose slowest stage or transfer is as fast as possible, when replicas share the work.
#pragma once

#include <functional>
#include <vector>

#include "plan/layer_chain.hpp"
#include "plan/search/splits.hpp"

namespace pipetrain {

struct ReplicatedSplit {
  Firsts firsts;
  std::vector<int> replicas;  // of each stage, on devices numbered stage by stage
};

struct ReplicaBalance {
  const LayerChain& chain;
  std::vector<double> speeds;       // of each device
  std::vector<double> cut_ms = {};  // [l]: over a cut after layer l; empty: 0
  // The time that replicas take to sum this many bytes of gradients, per micro-batch; empty: 0.
  std::function<double(int replicas, double parameter_bytes)> sum_ms = {};
};

// On all devices, in 1, 2, .. stages, but fewer than there are devices. By dynamic programming over
// layers and devices, as PipeDream's partition (SOSP 2019, section 3.1), but separately for each
// number of stages. If that takes more than `most` steps, the result is empty.
std::vector<ReplicatedSplit> replicated_splits(const ReplicaBalance& input, double most = 4e7);

// The same with equal replicas for all stages, if their number divides that of the devices.
std::vector<ReplicatedSplit> evenly_replicated_splits(const ReplicaBalance& input);

}  // namespace pipetrain
