// Our own planner: every schedule, number of stages, replicas, size of micro-batch and split that a
// cluster allows, each as its real program under the times of a profile. The shortest step that
// fits wins.
//
// Bounded: of all choices but the split the best are found with balanced splits first
// (plan/search/splits.hpp, with replicas plan/search/replicated_splits.hpp), and only of those
// splits are searched. With plans of other planners among the candidates it finds nothing worse.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "plan/proposal.hpp"
#include "plan/search/candidate.hpp"
#include "plan/search/seeds.hpp"

namespace pipetrain {

struct SearchInput {
  // The model's chain for micro-batches of this size, while this number of workers share the
  // machine.
  std::function<LayerChain(int samples, int workers)> chain;
  const Cluster& cluster;
  int minibatch_samples = 1;
  int copies_beside_weights = 2;  // CandidateInput
  std::optional<std::int64_t> memory_limit_bytes = {};
  // Bytes per worker of a candidate's compiled pipeline, where there is one to compile. Formulas
  // choose among candidates; the chosen one must fit by this.
  std::function<std::vector<std::int64_t>(const Candidate&)> exact_memory = {};
  // May a schedule read weights other than the newest? Without it results equal those of one
  // device.
  bool allow_stale = false;

  bool replicates = true;  // may stages have replicas?
  // Layers that share a parameter: their stages need equal replicas.
  std::vector<std::vector<int>> tied_layers = {};
  std::vector<SearchSeed> seeds = {};

  // What is given and not searched.
  std::optional<std::string> schedule = {};
  std::optional<int> workers = {}, microbatches = {}, virtual_stages = {};
  std::optional<std::vector<int>> replicas = {};  // of each stage, or one number for all
  std::optional<std::vector<int>> firsts = {};
};

struct SearchResult {
  Candidate candidate;
  Simulated simulated;
  Proposal proposal;  // the same, for printing
};

// UsageError with the reasons where nothing can run: which worker is short of how many bytes, or
// the rule of the schedule that was asked for.
SearchResult search_by_simulation(const SearchInput& input);

}  // namespace pipetrain
