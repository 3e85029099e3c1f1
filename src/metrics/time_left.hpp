// How long a training still takes: the console's ETA.
#pragma once

#include <cstdint>

#include "config/config.hpp"

namespace pipetrain {

// Counts steps and validations, each at its mean so far. Until a validation has been measured, only
// steps count; checkpoints are written while training continues, so they take no time here.
class TimeLeft {
 public:
  void step(double seconds);
  void validation(double seconds, std::int64_t left);  // `left`: those still to come

  double seconds(std::int64_t steps_left) const;

 private:
  double step_seconds_ = 0, validation_seconds_ = 0;
  std::int64_t steps_ = 0, validations_ = 0, validations_left_ = 0;
};

// Validations that `rule` asks for after `step`: at the multiples, and one at the end.
std::int64_t validations_after(const ValidationConfig& rule, std::int64_t steps,
                               std::int64_t steps_per_epoch, std::int64_t step);

}  // namespace pipetrain
