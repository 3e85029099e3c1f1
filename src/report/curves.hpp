// The curves of one run, or of several over the same axes.
#pragma once

#include <span>
#include <string>

#include "report/measure.hpp"

namespace pipetrain {

// The training loss, samples per second, and for a single run the learning rate; each measure that
// validations of any run have, by step. The common measure of several runs is by seconds of
// training and by epochs instead.
std::string curves(std::span<const RunRecord> runs);

}  // namespace pipetrain
