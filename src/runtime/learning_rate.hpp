// The learning rate of a mini-batch: a pure function of its number, the same on every stage.
#pragma once

#include <cstdint>

#include "config/config.hpp"

namespace pipetrain {

struct LearningRate {
  LrScheduleConfig schedule;
  double base = 0;
  std::int64_t total_steps = 1;  // of the whole training: linear and cosine end there

  // Of mini-batch `step`, counted from 0. Warm-up rises linearly: (step + 1) / warmup_steps of
  // base. Behind it: constant; step: base * gamma^(milestones passed); linear and cosine: from base
  // to min_lr; inverse_sqrt: base * sqrt(max(1, warmup_steps) / (step + 1)).
  double at(std::int64_t step) const;
};

}  // namespace pipetrain
