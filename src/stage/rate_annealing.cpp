#include "stage/rate_annealing.hpp"

#include <algorithm>
#include <cmath>

#include "compile/segment_program.hpp"
#include "schedules.hpp"

namespace pipetrain {

double RateAnnealing::factor(std::int64_t step, StageId stage) const {
  if (anneal_steps == 0 || step < first_step) return 1;
  const double delay = std::max(1.0, delays[stage]);
  const double progress =
      static_cast<double>(step - first_step) / static_cast<double>(anneal_steps);
  return std::pow(delay, -(1 - std::min(progress, 1.0)));
}

std::optional<std::int64_t> anneal_steps(const Config& config, std::int64_t total_steps,
                                         std::int64_t steps_per_epoch) {
  if (config.pipeline.pipemare.anneal_steps) return config.pipeline.pipemare.anneal_steps;
  const std::int64_t updates = total_steps - warmup_steps(config, steps_per_epoch);
  if (updates <= 0) return std::nullopt;
  return (updates + 3) / 4;
}

RateAnnealing rate_annealing(const Config& config, std::int64_t total_steps,
                             std::int64_t steps_per_epoch) {
  if (training_rules(config.pipeline).rate != TrainingRules::Rate::ByDelay) return {};
  return {.anneal_steps = anneal_steps(config, total_steps, steps_per_epoch).value_or(0),
          .first_step = warmup_steps(config, steps_per_epoch),
          .delays = delays(schedule_request(config, config.pipeline.stages))};
}

}  // namespace pipetrain
