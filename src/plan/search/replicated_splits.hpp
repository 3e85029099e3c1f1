// Contiguous splits whose stages have replicas, as candidates of the search: of each number of
// stages one whose slowest stage or transfer is as fast as can be, when replicas share its work.
#pragma once

#include <functional>
#include <vector>

#include "plan/layer_chain.hpp"
#include "plan/search/splits.hpp"

namespace pipetrain {

struct ReplicatedSplit {
  Firsts firsts;
  std::vector<int> replicas;  // of each stage, on devices that are numbered stage by stage
};

struct ReplicaBalance {
  const LayerChain& chain;
  std::vector<double> speeds;       // of each device
  std::vector<double> cut_ms = {};  // [l]: over a cut after layer l; empty: nothing
  // What replicas take to add up that number of bytes of gradients, per micro-batch; empty:
  // nothing.
  std::function<double(int replicas, double parameter_bytes)> sum_ms = {};
};

// On all devices, in 1, 2, .. stages, fewer than there are devices. By dynamic programming over
// layers and devices, as PipeDream's partition (SOSP 2019, section 3.1) but for any number of
// stages apart; of more than `most` steps of it nothing is found.
std::vector<ReplicatedSplit> replicated_splits(const ReplicaBalance& input, double most = 4e7);

// The same with as many replicas of every stage, where their number divides that of the devices.
std::vector<ReplicatedSplit> evenly_replicated_splits(const ReplicaBalance& input);

}  // namespace pipetrain
