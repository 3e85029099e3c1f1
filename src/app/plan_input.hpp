// The input of `pipetrain plan`: the model's times, the cluster and the limits, from the command
// line and the config.
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

// Keys given in a config, which a plan must keep.
struct GivenKeys {
  std::optional<std::string> schedule = {};
  std::optional<int> stages = {}, microbatches = {}, virtual_stages = {};
  std::optional<std::vector<int>> replicas = {};
  std::optional<Warmup> warmup = {};
  std::optional<bool> recompute = {};
  std::optional<std::vector<int>> firsts = {};  // from pipeline.split, if it names layers
};

struct PlanInput {
  std::string where;  // the profile file
  std::function<LayerChain(int samples, int workers)> chain;
  CutStates cuts;  // for one whole mini-batch, on one worker
  int minibatch_samples = 1;
  bool samples_assumed = false;   // because the profile does not say how many they are
  int copies_beside_weights = 2;  // gradient and moments
  Cluster cluster;
  std::optional<Cluster> whole_cluster = {};      // SearchInput
  std::optional<std::int64_t> memory_bytes = {};  // per device
  GivenKeys given = {};
  bool allow_stale = false;
  bool replicates = true;                          // may stages have replicas?
  std::vector<std::vector<int>> tied_layers = {};  // layers that share a parameter
};

// UsageError: what is missing or impossible, and what to write.
PlanInput plan_input(const Options& options);
// For a config's model, as measured, on this machine.
PlanInput plan_input(const ReadConfig& read, const Graph& graph, const Profile& profile);

// If the threads of a stage are not given, the workers share the machine's cores.
int threads_of(const Config& config, int workers);
GivenKeys given_keys(const ReadConfig& read, const Graph& graph);
// One chain per micro-batch size: the mini-batch, half of it, and so on.
std::vector<LayerChain> chains_of(const PlanInput& input);
SearchInput search_input(const PlanInput& input);  // keeps a reference to `input`
void name_layers(Proposal& proposal, const LayerChain& chain);
// Of how many samples its mini-batch is.
void set_samples(Proposal& proposal, const PlanInput& input);

}  // namespace pipetrain
