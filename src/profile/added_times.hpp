// Measures what cuts and split backwards add to the times of layers: cut_times.hpp,
// split_times.hpp.
#pragma once

#include <cstdint>

#include "plan/profile.hpp"
#include "profile/watched_training.hpp"

namespace pipetrain {

// Sets those times of the layers of `whole`, by training the model in other ways, without
// neighbours, for at least `seconds` each. Where a training holds at most `in_turn_bytes`, they
// take turns with one in one piece, so that what slows the machine down for a while slows down all
// of them; otherwise one is measured after the other. Throws UsageError, DeviceError and DataError
// as training does.
void measure_added_times(const WatchedModel& model, double seconds, std::int64_t in_turn_bytes,
                         ProfilePoint& whole);

}  // namespace pipetrain
