// The numbers of `simulate` without a program: an order is walked through as it is, what passes
// would add to it is implied, and of times only what is in flight is kept. Some tens of nanoseconds
// for a forward or a backward, so that planners can ask thousands of times.
//
// Where the costs know no shared links and no transfers that occupy workers, the numbers are those
// of `simulate` to the last bit. It finds a program that would wait forever, but not one that would
// be refused for another reason: `check` does that.
#pragma once

#include <set>

#include "program/compact_order.hpp"
#include "program/simulate.hpp"

namespace pipetrain {

// What the passes would add (program/passes.hpp), besides updates, loads and transfers.
struct Additions {
  bool early_sends = false;        // send_gradients_early
  bool recompute = false;          // add_recomputes
  std::set<StageId> syncing = {};  // add_gradient_sync on these
};

// Throws UsageError where workers wait for each other forever. Versions are not known here:
// peak_weight_versions stays empty (versions/bind_worker.hpp).
Summary summarize(const CompactOrder& order, const Costs& costs, const Additions& additions = {});

}  // namespace pipetrain
