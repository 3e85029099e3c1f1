// Plans of other planners as candidates of the search: each is simulated as the program that it is,
// so that under the simulator no plan of the search is worse than they are.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "plan/cluster/cluster.hpp"
#include "plan/layer_chain.hpp"
#include "plan/pipedream/cut_states.hpp"
#include "plan/proposal.hpp"
#include "plan/search/candidate.hpp"
#include "schedules.hpp"

namespace pipetrain {

struct SearchSeed {
  std::string of;             // "pipedream", "bapipe"
  std::string schedule = {};  // that it is run under; looked at under the others too
  Warmup warmup = Warmup::OneFOneB;
  int microbatches = 1;
  int workers = 1;  // the schedule's stages
  std::vector<int> firsts = {0};
  std::vector<int> replicas = {};  // empty: one of each, or the schedule itself has copies
  std::shared_ptr<const LayerOrder> order = {};  // null: the chain's
};

// What the plan would train as; nothing where it has stages that share a layer. Schedules that
// charge what other devices do stand for the 1f1b that they run as.
std::optional<SearchSeed> seed_of(const Proposal& proposal);

// Both planners' plans, if they find any: PipeDream's with and without replicas, by both of its
// cost models; BaPipe's over these chains.
struct SeedInput {
  const CutStates& cuts;
  std::vector<LayerChain> chains;  // for each size of micro-batch to look at
  const Cluster& cluster;
  int minibatch_samples = 1;
  std::optional<std::int64_t> memory_limit_bytes = {};
};
std::vector<SearchSeed> seeds_of(const SeedInput& input);

}  // namespace pipetrain
