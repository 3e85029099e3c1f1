// What it costs to run a backward in two halves (the zero-bubble schedules): the weight half comes
// when the caches no longer hold what the input half has read and written.
#pragma once

#include <vector>

#include "plan/profile.hpp"

namespace pipetrain {

// Sets `split_backward_ms` of the layers of `whole`, from their times in a training that splits:
// how much longer both halves take together, for most micro-batches.
void set_split_times(std::vector<LayerTimes>& whole, const std::vector<LayerTimes>& split);

}  // namespace pipetrain
