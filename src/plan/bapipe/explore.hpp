// BaPipe's exploration (Zhao et al., arXiv 2012.12544): every size of micro-batch under every
// schedule of the platform, cut so that it is balanced, fits and hides its transfers, compared with
// plain data parallelism. The shortest step wins; each of the others has the reason why it lost.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "plan/cluster/cluster.hpp"
#include "plan/layer_chain.hpp"
#include "plan/proposal.hpp"

namespace pipetrain {

struct BapipeInput {
  std::vector<LayerChain> chains;  // the same layers, for each size of micro-batch to try
  Cluster cluster;                 // stage i is on device i
  int minibatch_samples = 1;
  std::optional<std::int64_t> memory_limit_bytes = {};  // of each device, besides its own memory
  // May neighbours share a layer? Only tried if every device is asynchronous.
  bool split_layers = true;
};

// The proposal's `schedule` is a name of bapipe_schedules(), or data_parallel. Throws a UsageError
// with the reasons if nothing can run.
Proposal explore_bapipe(const BapipeInput& input);

// A chain for another size of micro-batch, if only one was profiled. Times and bytes are scaled
// with the samples, which is an assumption (small micro-batches take more time per sample).
LayerChain scaled_chain(const LayerChain& chain, int microbatch_samples);

}  // namespace pipetrain
