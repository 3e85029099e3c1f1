// The course of a training's loss, for what its end should warn of: a run that got worse looks like
// any other in its last line.
#pragma once

#include <deque>
#include <optional>
#include <string>

#include "metrics/step_summary.hpp"

namespace pipetrain {

class Course {
 public:
  // `classes`: of the labels; 0: there are none.
  explicit Course(int classes) : classes_(classes) {}

  void see(const StepSummary& step);

  // One sentence with a way out, where the loss ended at 50 times that of the first step, or at
  // chance (ln of the classes) after it had been clearly below.
  std::optional<std::string> warning() const;

 private:
  double recent_mean() const;

  int classes_;
  std::optional<double> first_,
      lowest_;  // lowest_: mean over as many steps as recent_ has room for
  std::deque<double> recent_;
};

}  // namespace pipetrain
