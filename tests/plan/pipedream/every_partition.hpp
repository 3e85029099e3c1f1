// The best partition by trying all of them: every row of nested states, every number of replicas,
// on every level. Written from the formulas, front to back, and slow.
#pragma once

#include "plan/pipedream/partition.hpp"

namespace pipetrain::testing {

// The smallest number of stages among the partitions on one level that have at most this
// bottleneck.
int fewest_stages(const CutStates& cuts, const PartitionRequest& request, double bottleneck_ms);

// The bottleneck in milliseconds; infinity if nothing is possible.
double best_of_every_partition(const CutStates& cuts, const PartitionRequest& request);

}  // namespace pipetrain::testing
