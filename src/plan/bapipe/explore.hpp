// BaPipe's exploration (Zhao et al., arXiv 2012.12544): every size of micro-batch under every
// schedule of the platform, cut where it is balanced, fits and hides its transfers, beside plain
// data parallelism. The shortest step wins; what lost says why.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "plan/cluster/cluster.hpp"
#include "plan/layer_chain.hpp"
#include "plan/proposal.hpp"

namespace pipetrain {

struct BapipeInput {
  std::vector<LayerChain> chains;  // the same layers, for each size of micro-batch to look at
  Cluster cluster;                 // stage i is on device i
  int minibatch_samples = 1;
  std::optional<std::int64_t> memory_limit_bytes = {};  // of each device, besides its own memory
  // May neighbours share a layer? Looked at where every device is asynchronous.
  bool split_layers = true;
};

// `schedule` of the proposal is a name of bapipe_schedules(), or data_parallel. UsageError with the
// reasons where nothing can run.
Proposal explore_bapipe(const BapipeInput& input);

// A chain of other micro-batches, where only one size was profiled: times and bytes in proportion
// to the samples, which is an assumption (small micro-batches take more time per sample).
LayerChain scaled_chain(const LayerChain& chain, int microbatch_samples);

}  // namespace pipetrain
