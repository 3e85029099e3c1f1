// What PipeDream would run: its partition as a proposal, compared with data parallelism, a pipeline
// without replicas, and one device.
#pragma once

#include <string_view>

#include "plan/pipedream/partition.hpp"
#include "plan/proposal.hpp"

namespace pipetrain {

// Layers of the proposal are numbered stage by stage, in topological order within each. If nothing
// fits, throws a UsageError that begins with `where` (the profile): which stage is short of how
// many bytes, and what would help.
Proposal explore_pipedream(const CutStates& cuts, const PartitionRequest& request,
                           std::string_view where);

}  // namespace pipetrain
