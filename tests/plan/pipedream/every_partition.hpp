// The best partition by trying all of them: every row of nested states, every number of replicas,
// on every level. Written from the formulas, front to back, and slow.
#pragma once

#include "plan/pipedream/partition.hpp"

namespace pipetrain::testing {

// Of the partitions on one level that have at most this bottleneck, the number of stages of the one
// with the fewest.
int fewest_stages(const CutStates& cuts, const PartitionRequest& request, double bottleneck_ms);

// The bottleneck in milliseconds; infinity where nothing is possible.
double best_of_every_partition(const CutStates& cuts, const PartitionRequest& request);

}  // namespace pipetrain::testing
