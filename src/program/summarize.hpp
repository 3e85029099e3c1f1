// The numbers of `simulate` without a program. An order is walked through as it is, what passes
// would add is implied, and only the times of what is in flight are kept. A forward or a backward
// takes some tens of nanoseconds, so planners can ask thousands of times.
//
// If no links are shared, no transfers occupy workers and costs have neither latency nor all_reduce
// (program/costs.hpp), the numbers are those of `simulate` to the last bit. It finds a program that
// would wait forever, but not one that would be refused for another reason: `check` does that.
#pragma once

#include <set>

#include "program/compact_order.hpp"
#include "program/simulate.hpp"

namespace pipetrain {

// What the passes would add (program/passes.hpp), besides updates, loads and transfers.
struct Additions {
  bool early_sends = false;        // send_gradients_early
  bool recompute = false;          // add_recomputes
  std::set<StageId> syncing = {};  // add_gradient_sync on these stages
};

// Throws a UsageError if workers wait for each other forever. Versions are unknown here, so
// peak_weight_versions stays empty (versions/bind_worker.hpp).
Summary summarize(const CompactOrder& order, const Costs& costs, const Additions& additions = {});

}  // namespace pipetrain
