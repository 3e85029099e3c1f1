// Our own planner: every schedule, number of stages, replicas, size of micro-batch and split that a
// cluster allows, each simulated as its real program with the times of a profile. The shortest step
// that fits wins.
//
// The search is bounded: it first finds the best of all other choices with balanced splits
// (plan/search/splits.hpp; with replicas, plan/search/replicated_splits.hpp), and only then
// searches the splits of these. With the plans of other planners as candidates, it finds nothing
// worse.
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
  // The model's chain for micro-batches of this size, while this many workers share the machine.
  std::function<LayerChain(int samples, int workers)> chain;
  const Cluster& cluster;
  // The cores of the machine, if devices of `cluster` share them: one device and data parallelism,
  // which speed-ups are relative to, run on these. None: on `cluster`.
  std::optional<Cluster> whole_cluster = {};
  int minibatch_samples = 1;
  int copies_beside_weights = 2;  // CandidateInput
  std::optional<std::int64_t> memory_limit_bytes = {};
  // Bytes per worker of a candidate's compiled pipeline, if there is one to compile. Formulas
  // choose among candidates, but the chosen one must fit by these bytes.
  std::function<std::vector<std::int64_t>(const Candidate&)> exact_memory = {};
  // May a schedule read weights other than the newest? If not, results equal those of one device.
  bool allow_stale = false;

  bool replicates = true;  // may stages have replicas?
  // Layers that share a parameter: their stages need equal replicas.
  std::vector<std::vector<int>> tied_layers = {};
  std::vector<SearchSeed> seeds = {};

  // What is given and therefore not searched.
  std::optional<std::string> schedule = {};
  std::optional<int> workers = {}, microbatches = {}, virtual_stages = {};
  std::optional<std::vector<int>> replicas = {};  // of each stage, or one number for all
  std::optional<std::vector<int>> firsts = {};
  std::optional<Warmup> warmup = {};  // only of schedules that take one
  std::optional<bool> recompute = {};
};

struct SearchResult {
  Candidate candidate;
  Simulated simulated;
  Proposal proposal;  // the same, for printing
};

// Throws a UsageError with the reasons if nothing can run: which worker is short of how many bytes,
// or the rule of the schedule that was asked for.
SearchResult search_by_simulation(const SearchInput& input);

}  // namespace pipetrain
