// The times of a model's layers for one size of micro-batch and one number of threads.
#pragma once

#include "plan/profile.hpp"
#include "profile/watched_training.hpp"

namespace pipetrain {

// Stages of the model are run by one thread. Measures for at least `seconds`, while `neighbours`
// other stages train beside it; UsageError, DeviceError, DataError as training.
ProfilePoint measure_point(const WatchedModel& model, int neighbours, double seconds);

}  // namespace pipetrain
