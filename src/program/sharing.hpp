// BaPipe's FBP-AS (Zhao et al., arXiv 2012.12544): a worker runs its forwards and its backwards
// side by side. Each keeps the order that the list gives it; while both run they have half the
// worker each, and one alone has all of it, so that no work is lost.
#pragma once

#include "program/compact_order.hpp"
#include "program/simulate.hpp"

namespace pipetrain {

// Of an order of whole backwards with every stage on a worker of its own. A forward waits until the
// backwards that the list has before it are done, which bounds what is in flight; transfers occupy
// their channels alone. `peak_weight_versions` stays empty. Sums of times are rounded otherwise
// than by summarize.
Summary summarize_sharing(const CompactOrder& order, const Costs& costs);

}  // namespace pipetrain
