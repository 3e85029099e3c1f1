// The learning rate of a mini-batch: a pure function of its number, the same on every stage but
// where PipeMare divides it by the stage's delay.
#pragma once

#include <cstdint>
#include <vector>

#include "base/ids.hpp"
#include "config/config.hpp"

namespace pipetrain {

// PipeMare, section 3.1 (T1): delay^-(1 - min(k / anneal_steps, 1)), k updates behind `first_step`;
// delays below one count as one.
struct RateAnnealing {
  std::int64_t anneal_steps = 0;  // 0: off
  std::int64_t first_step = 0;    // where the asynchronous phase begins
  std::vector<double> delays;     // per stage
  double factor(std::int64_t step, StageId stage) const;
};

struct LearningRate {
  LrScheduleConfig schedule;
  double base = 0;
  std::int64_t total_steps = 1;  // of the whole training: linear and cosine end there
  RateAnnealing annealing = {};

  // Of mini-batch `step`, counted from 0. Warm-up rises linearly: (step + 1) / warmup_steps of
  // base. Behind it: constant; step: base * gamma^(milestones passed); linear and cosine: from base
  // to min_lr; inverse_sqrt: base * sqrt(max(1, warmup_steps) / (step + 1)).
  double at(std::int64_t step) const;
  // The same times what annealing makes of it on that stage.
  double at(std::int64_t step, StageId stage) const {
    return at(step) * annealing.factor(step, stage);
  }
};

}  // namespace pipetrain
