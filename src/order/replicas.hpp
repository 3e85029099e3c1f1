// Stages with replicas: several workers hold the same stage and share its micro-batches, the same
// one for both passes (PipeDream's 1F1B-RR: Narayanan et al., SOSP 2019, sections 3.1 and 3.2).
#pragma once

#include <vector>

#include "order/order.hpp"

namespace pipetrain {

struct ReplicaInput {
  // Of each of the schedule's stages (where a worker holds several parts of the model: of each
  // worker). Not all 1.
  std::vector<int> replicas;
  // Mini-batch k is of replica k mod their number, else the i-th micro-batch of each mini-batch is
  // of replica i mod their number.
  bool whole_minibatches = false;
};

// The order for workers that are numbered stage by stage. With r_s replicas of stage s and R
// workers in all, a replica runs on its own micro-batches what a stage with
//   (R - 1 - sum of r_t over t < s) / r_s, rounded down,
// stages after it runs, which is how many forwards it has to be ahead by. Where replicas differ and
// take whole mini-batches, it is ahead by as many of those.
CompactOrder replicated(const Order& order, const OrderInput& input, const ReplicaInput& replicas);

}  // namespace pipetrain
