#include "run/length_notes.hpp"

#include <spdlog/fmt/fmt.h>

#include "stage/learning_rate.hpp"

namespace pipetrain {
namespace {

using LengthNotes = std::vector<std::string>;

// Without PipeMare's annealing, which does not depend on the length once it has begun.
LearningRate rate_over(const Config& config, std::int64_t steps) {
  return {.schedule = config.lr_schedule, .base = config.optimizer.lr, .total_steps = steps};
}

void note_warmup(LengthNotes& notes, const Config& config, std::int64_t steps) {
  if (config.lr_schedule.warmup_steps <= steps) return;
  notes.push_back(
      fmt::format("lr_schedule.warmup_steps = {} is more than the {} steps of this run: the "
                  "learning rate ends at {:.3g} and never reaches {:.3g}",
                  config.lr_schedule.warmup_steps, steps, rate_over(config, steps).at(steps - 1),
                  config.optimizer.lr));
}

void note_trace(LengthNotes& notes, const Config& config, std::int64_t steps) {
  const auto& traced = config.metrics.trace_steps;
  if (!traced || traced->first <= steps) return;
  notes.push_back(
      fmt::format("metrics.trace_steps = [{}, {}]: this run ends after step {}, so nothing is "
                  "traced",
                  traced->first, traced->last, steps));
}

void note_moved_end(LengthNotes& notes, const Config& config, std::int64_t steps,
                    const EarlierLength& earlier) {
  const LrKind kind = config.lr_schedule.kind;
  if (kind != LrKind::Linear && kind != LrKind::Cosine) return;
  if (earlier.total == steps || earlier.trained == 0 || earlier.trained >= steps) return;
  const double before = rate_over(config, earlier.total).at(earlier.trained - 1),
               after = rate_over(config, steps).at(earlier.trained);
  notes.push_back(
      fmt::format("lr_schedule.kind = \"{}\" ends at step {} now, not at step {}: the learning "
                  "rate goes from {:.3g} at step {} to {:.3g}; {} steps from the start would be "
                  "another training",
                  word_of(kind), steps, earlier.total, before, earlier.trained, after, steps));
}

}  // namespace

std::vector<std::string> length_notes(const Config& config, const TrainingLength& length,
                                      const std::optional<EarlierLength>& earlier) {
  LengthNotes notes;
  note_warmup(notes, config, length.steps);
  note_trace(notes, config, length.steps);
  if (earlier) note_moved_end(notes, config, length.steps, *earlier);
  return notes;
}

}  // namespace pipetrain
