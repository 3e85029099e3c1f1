// Follows a training's loss, so that its end can warn: in its last line, a run that got worse looks
// like any other.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>

#include "metrics/step_summary.hpp"

namespace pipetrain {

class Course {
 public:
  // `classes`: how many classes the labels have; 0: no class labels.
  explicit Course(int classes) : classes_(classes) {}

  void see(const StepSummary& step);

  // One sentence, with what to do, if the last 10 losses or more are not finite; if the loss ended
  // at 50 times that of the first step; or at chance (ln of the classes): after having been clearly
  // below, or after 500 steps.
  std::optional<std::string> warning() const;

 private:
  double recent_mean() const;

  int classes_;
  std::int64_t steps_ = 0, lost_ = 0;  // lost_: since the latest finite loss
  std::optional<double> first_,
      lowest_;  // lowest_: mean over as many steps as recent_ holds
  std::deque<double> recent_;
};

}  // namespace pipetrain
