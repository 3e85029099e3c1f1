// Measures what cuts and split backwards add to the times of layers: cut_times.hpp,
// split_times.hpp.
#pragma once

#include <vector>

#include "plan/profile.hpp"
#include "profile/watched_training.hpp"

namespace pipetrain {

class AddedTimes {
 public:
  // For a model in one piece, whose point is `whole`.
  AddedTimes(const WatchedModel& model, const ProfilePoint& whole);

  // Trains the model in other ways, without neighbours, for at least `seconds` each. Unless they
  // hold very much, they take turns with one in one piece, so that what slows the machine down for
  // a while slows down all of them. Of several calls the fastest times count. Throws UsageError,
  // DeviceError and DataError as training does.
  void measure(double seconds);

  // Sets those times of the layers of `whole`; after measure().
  void set(ProfilePoint& whole) const;

 private:
  bool in_turn_ = true;
  std::vector<WatchedModel> ways_;     // split, cut, cut otherwise, and in one piece if in turn
  std::vector<ProfilePoint> fastest_;  // of each
};

}  // namespace pipetrain
