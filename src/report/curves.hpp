// The curves of one run, or of several over the same axes.
#pragma once

#include <span>
#include <string>

#include "report/measure.hpp"

namespace pipetrain {

// Loss of training, and of one run samples per second and rate; each validation measure that a run
// has, by step, and of several runs by seconds of training and by epochs.
std::string curves(std::span<const RunRecord> runs);

}  // namespace pipetrain
