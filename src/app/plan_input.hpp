// What `pipetrain plan` plans for: the model's times, the cluster and the limits, as the command
// line and the config say.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "config/read.hpp"
#include "plan/cluster/cluster.hpp"
#include "plan/layer_chain.hpp"
#include "plan/pipedream/cut_states.hpp"
#include "plan/profile.hpp"
#include "plan/proposal.hpp"
#include "plan/search/search.hpp"
#include "run/options.hpp"

namespace pipetrain {

struct Graph;

// Keys of a config that a plan leaves as they are.
struct GivenKeys {
  std::optional<std::string> schedule = {};
  std::optional<int> stages = {}, microbatches = {}, virtual_stages = {};
  std::optional<std::vector<int>> replicas = {};
  bool warmup = false;
  std::optional<std::vector<int>> firsts = {};  // of pipeline.split, where it names layers
};

struct PlanInput {
  std::string where;  // the profile's file
  std::function<LayerChain(int samples, int workers)> chain;
  CutStates cuts;  // of one whole mini-batch, on one worker
  int minibatch_samples = 1;
  int copies_beside_weights = 2;  // gradient and moments
  Cluster cluster;
  std::optional<std::int64_t> memory_bytes = {};  // of each device
  GivenKeys given = {};
  bool allow_stale = false;
  bool replicates = true;                          // may stages have replicas?
  std::vector<std::vector<int>> tied_layers = {};  // that share a parameter
};

// UsageError: what is missing or impossible, and what to write.
PlanInput plan_input(const Options& options);
// Of a config's model, as it was measured, on this machine.
PlanInput plan_input(const ReadConfig& read, const Graph& graph, const Profile& profile);

GivenKeys given_keys(const ReadConfig& read, const Graph& graph);
// Sizes of micro-batches: the mini-batch, its halves, and so on.
std::vector<LayerChain> chains_of(const PlanInput& input);
SearchInput search_input(const PlanInput& input);  // keeps a reference
void name_layers(Proposal& proposal, const LayerChain& chain);
// Of a plan whose stages are on the cluster's devices: what a micro-batch takes to the next stage
// and back.
void set_transfers(Proposal& proposal, const PlanInput& input);

}  // namespace pipetrain
