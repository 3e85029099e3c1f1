// Plans of other planners as candidates of the search. Each is simulated as the program that it is,
// so in the simulator no plan of the search is worse than these.
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
  std::string schedule = {};  // under which it runs; the others are tried too
  Warmup warmup = Warmup::OneFOneB;
  int microbatches = 1;
  int workers = 1;  // the schedule's stages
  std::vector<int> firsts = {0};
  std::vector<int> replicas = {};  // empty: one of each, or the schedule has copies of its own
  std::shared_ptr<const LayerOrder> order = {};  // null: the chain's
};

// The plan as it would train; none if it has stages that share a layer. A schedule that charges
// what other devices do is replaced by the 1f1b that it runs as.
std::optional<SearchSeed> seed_of(const Proposal& proposal);

// The plans of both planners, if they find any: PipeDream's with and without replicas, by both of
// its cost models, and BaPipe's over these chains.
struct SeedInput {
  const CutStates& cuts;
  std::vector<LayerChain> chains;  // for each size of micro-batch to try
  const Cluster& cluster;
  int minibatch_samples = 1;
  std::optional<std::int64_t> memory_limit_bytes = {};
};
std::vector<SearchSeed> seeds_of(const SeedInput& input);

}  // namespace pipetrain
