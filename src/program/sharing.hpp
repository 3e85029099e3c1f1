// BaPipe's FBP-AS (Zhao et al., arXiv 2012.12544): a worker runs its forwards and its backwards
// side by side. Each kind keeps the order of the list. While both run, each gets half of the
// worker; one alone gets all of it, so no work is lost.
#pragma once

#include "program/compact_order.hpp"
#include "program/simulate.hpp"
#include "program/summarize.hpp"

namespace pipetrain {

// For an order of whole backwards with every stage on its own worker. A forward waits until the
// backwards and updates before it in the list are done, which bounds what is in flight. Transfers
// occupy only their channels, and gradients are not sent early. `peak_weight_versions` stays empty.
// Sums of times are rounded differently than where workers do one thing at a time.
Summary summarize_sharing(const CompactOrder& order, const Costs& costs,
                          const Additions& additions = {});

// The same numbers for a program, and the times of its instructions. Those that do not compute
// happen when their forward or backward begins or ends.
Timeline simulate_sharing(const Program& program, const Costs& costs);

}  // namespace pipetrain
