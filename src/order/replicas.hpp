// Stages with replicas: several workers hold the same stage and share its micro-batches, each with
// its forward and its backward on the same worker (PipeDream's 1F1B-RR: Narayanan et al., SOSP
// 2019, sections 3.1 and 3.2).
#pragma once

#include <vector>

#include "order/order.hpp"

namespace pipetrain {

struct ReplicaInput {
  // For each of the schedule's stages (for each worker, if workers hold several parts of the
  // model). Not all 1.
  std::vector<int> replicas;
  // If set, mini-batch k belongs to replica k mod their number; otherwise the i-th micro-batch of
  // each mini-batch belongs to replica i mod their number.
  bool whole_minibatches = false;
};

// The order for workers that are numbered stage by stage. With r_s replicas of stage s and R
// workers in all, a replica runs on its own micro-batches what a stage with
//   (R - 1 - sum of r_t over t < s) / r_s, rounded down,
// stages after it runs. That is how many forwards it has to be ahead by. If stages have different
// numbers of replicas, which take whole mini-batches, it is ahead by that many mini-batches.
CompactOrder replicated(const Order& order, const OrderInput& input, const ReplicaInput& replicas);

}  // namespace pipetrain
