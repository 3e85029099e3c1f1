// The curves of one run, or of several over the same axes.
#pragma once

#include <span>
#include <string>

#include "report/measure.hpp"

namespace pipetrain {

// The training loss; for a single run also samples per second and learning rate; each validation
// measure that a run has, by step and, for several runs, by seconds of training and by epochs.
std::string curves(std::span<const RunRecord> runs);

}  // namespace pipetrain
