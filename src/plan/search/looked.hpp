// The candidates that the search has tried, what their speed-ups are relative to, and what it
// reports about them at the end.
#pragma once

#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "plan/proposal.hpp"
#include "plan/search/candidate.hpp"
#include "plan/search/search.hpp"

namespace pipetrain {

// A candidate with its simulation, or with the reason why there is none.
struct Looked {
  static constexpr double never = std::numeric_limits<double>::infinity();

  Candidate candidate;
  std::optional<Simulated> simulated;
  std::string refused;  // the schedule's rule

  bool runs() const { return simulated && !simulated->shortage; }
  double step_ms() const { return runs() ? simulated->step_ms : never; }
};

// A plan of another planner, unchanged.
struct LookedSeed {
  std::string of;
  Looked looked;
};

// The whole model on one device, and on several that share the micro-batches, whatever else is
// given: what speed-ups are relative to.
std::vector<Looked> whole_models(const SearchInput& input);

struct SearchOutcome {
  const std::vector<Looked>& looked;  // the best one first; it runs
  const std::vector<LookedSeed>& seeds;
  std::vector<Looked> whole;
  const LayerChain& chain;  // of the best
  int devices = 1;          // of the cluster
  bool left_stale_out = false;
};
// The best as a proposal, with the best of each schedule and the other planners' plans.
Proposal proposal_of(const SearchOutcome& outcome);

// "worker 1 needs 3.0 MiB and is short of 1.0 MiB"
std::string shortage_text(const Simulated& simulated);

}  // namespace pipetrain
