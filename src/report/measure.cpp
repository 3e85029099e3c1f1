#include "report/measure.hpp"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <cmath>

namespace pipetrain {
namespace {

bool has(const RunRecord& run, Measure measure) {
  return std::ranges::any_of(run.validations, [&](const ValidationPoint& point) {
    return value_of(point, measure).has_value();
  });
}

template <class Figure>
std::size_t largest_stage(const RunRecord& run, Figure figure) {
  const auto at = std::ranges::max_element(run.stages, {}, figure);
  return at == run.stages.end() ? 0 : static_cast<std::size_t>(at - run.stages.begin());
}

// Validations under cross_entropy have an accuracy, under mse they have none.
bool is_of_mse(const RunRecord& run) { return !has(run, Measure::Accuracy); }

}  // namespace

MeasureWords measure_words(Measure measure) {
  switch (measure) {
    case Measure::Bleu:
      return {"BLEU", true};
    case Measure::Perplexity:
      return {"perplexity", false};
    case Measure::Accuracy:
      return {"accuracy", true};
    case Measure::Loss:
      return {"validation loss", false};
  }
  return {};
}

std::string value_text(Measure measure, double value) {
  switch (measure) {
    case Measure::Bleu:
      return fmt::format("{:.2f}", value);
    case Measure::Perplexity:
      return fmt::format("{:.4g}", value);
    case Measure::Accuracy:
      return fmt::format("{:.2f}%", 100 * value);
    case Measure::Loss:
      return fmt::format("{:.4f}", value);
  }
  return {};
}

std::optional<double> value_of(const ValidationPoint& point, Measure measure) {
  switch (measure) {
    case Measure::Bleu:
      return point.bleu;
    case Measure::Perplexity:
      return point.perplexity;
    case Measure::Accuracy:
      return point.accuracy;
    case Measure::Loss:
      return std::isnan(point.loss) ? std::nullopt : std::optional(point.loss);
  }
  return std::nullopt;
}

bool is_better(Measure measure, double a, double b) {
  return measure_words(measure).higher_is_better ? a > b : a < b;
}

LossKinds loss_kinds(std::span<const RunRecord> runs) {
  LossKinds kinds;
  for (const RunRecord& run : runs)
    if (!run.validations.empty())
      (is_of_mse(run) ? kinds.mse : kinds.cross_entropy).push_back(run.name);
  return kinds;
}

std::optional<Measure> common_measure(std::span<const RunRecord> runs) {
  if (std::ranges::all_of(runs, [](const RunRecord& run) { return run.validations.empty(); }))
    return std::nullopt;
  for (const Measure measure : all_measures)
    if (std::ranges::all_of(runs, [&](const RunRecord& run) {
          return run.validations.empty() || has(run, measure);
        }))
      return measure == Measure::Loss && loss_kinds(runs).differ() ? std::nullopt
                                                                   : std::optional(measure);
  return std::nullopt;
}

const ValidationPoint* best_of(const RunRecord& run, Measure measure) {
  const ValidationPoint* best = nullptr;
  for (const ValidationPoint& point : run.validations) {
    const auto value = value_of(point, measure);
    if (value && (!best || is_better(measure, *value, *value_of(*best, measure)))) best = &point;
  }
  return best;
}

const ValidationPoint* first_at(const RunRecord& run, Measure measure, double target) {
  for (const ValidationPoint& point : run.validations) {
    const auto value = value_of(point, measure);
    if (value && !is_better(measure, target, *value)) return &point;
  }
  return nullptr;
}

std::optional<double> common_target(std::span<const RunRecord> runs, Measure measure) {
  std::optional<double> target;
  const bool some_learnt = std::ranges::any_of(runs, &RunRecord::learnt);
  for (const RunRecord& run : runs) {
    const ValidationPoint* const best = best_of(run, measure);
    if (!best || (some_learnt && !run.learnt)) continue;
    const double value = *value_of(*best, measure);
    if (!target || is_better(measure, *target, value)) target = value;
  }
  return target;
}

std::size_t most_staleness(const RunRecord& run) {
  return largest_stage(run, &StageRecord::staleness);
}
std::size_t busiest_stage(const RunRecord& run) { return largest_stage(run, &StageRecord::busy); }

std::size_t memory_of(const RunRecord& run) {
  std::size_t bytes = 0;
  for (const StageRecord& stage : run.stages) bytes += stage.memory_bytes;
  return bytes;
}

}  // namespace pipetrain
