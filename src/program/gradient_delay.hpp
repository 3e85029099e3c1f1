// How late gradients are: the updates that a stage makes between the weights that a micro-batch's
// forward reads and those that its gradient is applied to. 0 under a schedule that drains at every
// update.
#pragma once

#include "base/indexed.hpp"
#include "program/program.hpp"

namespace pipetrain {

// Per stage: the mean over the micro-batches of the mini-batch with the largest mean. Accepts a
// folded program too.
Indexed<double, StageId> gradient_delays(const Program& program);

}  // namespace pipetrain
