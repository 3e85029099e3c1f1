// The times of a model's layers for one size of micro-batch and one number of threads.
#pragma once

#include "plan/profile.hpp"
#include "profile/watched_training.hpp"

namespace pipetrain {

// One thread runs all stages of the model. Measures for at least `seconds`, while `neighbours`
// other stages train beside it. Throws UsageError, DeviceError and DataError as training does.
ProfilePoint measure_point(const WatchedModel& model, int neighbours, double seconds);

}  // namespace pipetrain
