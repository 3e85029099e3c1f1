// BaPipe's FBP-AS (Zhao et al., arXiv 2012.12544): a worker runs its forwards and its backwards
// side by side. Each keeps the order that the list gives it; while both run they have half the
// worker each, and one alone has all of it, so that no work is lost.
#pragma once

#include "program/compact_order.hpp"
#include "program/simulate.hpp"
#include "program/summarize.hpp"

namespace pipetrain {

// Of an order of whole backwards with every stage on a worker of its own. A forward waits until the
// backwards and the updates that the list has before it are done, which bounds what is in flight;
// transfers occupy their channels alone, and gradients are not sent early. `peak_weight_versions`
// stays empty. Sums of times are rounded otherwise than where workers do one thing at a time.
Summary summarize_sharing(const CompactOrder& order, const Costs& costs,
                          const Additions& additions = {});

// The same numbers of a program, and the times of its instructions: those that do not compute take
// place where their forward or backward begins or ends.
Timeline simulate_sharing(const Program& program, const Costs& costs);

}  // namespace pipetrain
