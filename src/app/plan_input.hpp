// What `pipetrain plan` plans for: the model's times, the cluster and the limits, as the command
// line and the config say.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "plan/cluster/cluster.hpp"
#include "plan/layer_chain.hpp"
#include "plan/pipedream/cut_states.hpp"
#include "run/options.hpp"

namespace pipetrain {

// Keys of a config that a plan leaves as they are.
struct GivenKeys {
  std::optional<std::string> schedule = {};
  std::optional<int> stages = {}, microbatches = {}, virtual_stages = {};
  std::optional<std::vector<int>> firsts = {};  // of pipeline.split, where it names layers
};

struct PlanInput {
  std::string where;  // the profile's file
  std::function<LayerChain(int samples)> chain;
  CutStates cuts;  // of one whole mini-batch
  int minibatch_samples = 1;
  int copies_beside_weights = 2;  // gradient and moments
  Cluster cluster;
  std::optional<std::int64_t> memory_bytes = {};  // of each device
  GivenKeys given = {};
};

// UsageError: what is missing or cannot be, and what to write.
PlanInput plan_input(const Options& options);

}  // namespace pipetrain
