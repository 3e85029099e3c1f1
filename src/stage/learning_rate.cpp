#include "stage/learning_rate.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace pipetrain {

Indexed<double, StageId> rate_shares(const ProgramShape& program) {
  Indexed<double, StageId> shares;
  if (!program.whole_minibatches) return shares;
  for (StageId s{0}; s.value < program.stages; ++s.value)
    shares.push_back(1.0 * program.copies_of(s) / program.copies_of({0}));
  return shares;
}

LearningRate learning_rate_of(const Config& config, std::int64_t total_steps,
                              std::int64_t steps_per_epoch, const ProgramShape& program) {
  return {config.lr_schedule, config.optimizer.lr, total_steps,
          rate_annealing(config, total_steps, steps_per_epoch), rate_shares(program)};
}

double LearningRate::at(std::int64_t step) const {
  const std::int64_t warmup = schedule.warmup_steps;
  if (step < warmup) return base * static_cast<double>(step + 1) / static_cast<double>(warmup);
  // 0 right after the warm-up, 1 at the last mini-batch.
  const std::int64_t span = std::max<std::int64_t>(1, total_steps - 1 - warmup);
  const double progress =
      std::min(1.0, static_cast<double>(step - warmup) / static_cast<double>(span));
  switch (schedule.kind) {
    case LrKind::Constant:
      return base;
    case LrKind::Linear:
      return base + (schedule.min_lr - base) * progress;
    case LrKind::Cosine:
      return schedule.min_lr +
             (base - schedule.min_lr) * 0.5 * (1 + std::cos(std::numbers::pi * progress));
    case LrKind::InverseSqrt: {
      const auto reference = static_cast<double>(std::max<std::int64_t>(1, warmup));
      return std::max(schedule.min_lr, base * std::sqrt(reference / static_cast<double>(step + 1)));
    }
    case LrKind::Step: {
      const auto passed = std::count_if(schedule.milestones.begin(), schedule.milestones.end(),
                                        [&](std::int64_t m) { return step >= m; });
      return std::max(schedule.min_lr,
                      base * std::pow(schedule.gamma, static_cast<double>(passed)));
    }
  }
  return base;
}

}  // namespace pipetrain
