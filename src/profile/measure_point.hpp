// The times of a model's layers for one size of micro-batch and one number of threads.
#pragma once

#include <vector>

#include "plan/profile.hpp"
#include "profile/watched_training.hpp"

namespace pipetrain {

struct Surroundings {
  int neighbours = 0;  // other stages that train at the same time, on cores of their own
  int in_turn = 1;     // trainings of the model that take turns on this core, with the measured one
};

// One thread runs all stages of the model. Measures for at least `seconds`, with the bytes that all
// trainings in turn hold. Throws UsageError, DeviceError and DataError as training does.
ProfilePoint measure_point(const WatchedModel& model, const Surroundings& around, double seconds);

// The same for several ways to train a model, without neighbours, each for at least `seconds`: a
// few steps of one, then of the next, and so on. All have the same number of threads. To compare
// them: each layer's times are the shortest of all, not medians, so that what else the machine does
// for a while is in none of them.
std::vector<ProfilePoint> measure_in_turn(const std::vector<WatchedModel>& ways, double seconds);

// Of forwards and backwards, of most micro-batches.
double compute_ms(const ProfilePoint& point);
// Keeps whichever took less time.
void keep_faster(ProfilePoint& kept, ProfilePoint measured);
// Gives all points the forwards and backwards of the one whose took least.
void share_fastest_compute(std::vector<ProfilePoint>& points);

}  // namespace pipetrain
