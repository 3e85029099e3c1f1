// The learning rate of a mini-batch: a pure function of its number, the same on every stage except
// where PipeMare divides it by the stage's delay, and where replicas take mini-batches in turn.
#pragma once

#include <cstdint>

#include "base/ids.hpp"
#include "config/config.hpp"
#include "program/program.hpp"
#include "stage/rate_annealing.hpp"

namespace pipetrain {

struct LearningRate {
  LrScheduleConfig schedule;
  double base = 0;
  std::int64_t total_steps = 1;  // of the whole training: linear and cosine end there
  RateAnnealing annealing = {};
  Indexed<double, StageId> shares = {};  // rate_shares; empty: 1 on every stage

  // For mini-batch `step`, counted from 0. Warm-up rises linearly: (step + 1) / warmup_steps of
  // base. After it: constant; step: base * gamma^(milestones passed); linear and cosine: from base
  // to min_lr; inverse_sqrt: base * sqrt(max(1, warmup_steps) / (step + 1)). Step and inverse_sqrt
  // go no lower than min_lr.
  double at(std::int64_t step) const;
  // The same, times the stage's annealing factor and its share.
  double at(std::int64_t step, StageId stage) const {
    return at(step) * annealing.factor(step, stage) * (shares.empty() ? 1 : shares[stage]);
  }
};

// For replicas that take whole mini-batches: an update of stage s is for as many mini-batches as it
// has replicas, at r_s / r_0 of the rate. Otherwise empty.
Indexed<double, StageId> rate_shares(const ProgramShape& program);

// For a training of that length. `program`: that of its segments.
LearningRate learning_rate_of(const Config& config, std::int64_t total_steps,
                              std::int64_t steps_per_epoch, const ProgramShape& program);

}  // namespace pipetrain
