#include "run/annealing.hpp"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <cmath>

#include "schedules.hpp"
#include "stage/rate_annealing.hpp"

namespace pipetrain {
namespace {

bool is_annealed(const PipelineConfig& pipeline) {
  return training_rules(pipeline).rate == TrainingRules::Rate::ByDelay;
}

std::vector<double> first_factors(const RateAnnealing& annealing) {
  std::vector<double> factors;
  for (StageId s{0}; s.value < std::ssize(annealing.delays); ++s.value)
    factors.push_back(annealing.factor(annealing.first_step, s));
  return factors;
}

std::string annealed_steps_text(const RateAnnealing& annealing, std::int64_t total_steps) {
  return fmt::format("pipeline.pipemare.anneal_steps is not given: {}, a quarter of the {} {}\n",
                     annealing.anneal_steps, total_steps - annealing.first_step,
                     annealing.first_step > 0 ? "updates that follow the synchronous warm-up"
                                              : "updates of this training");
}

std::string no_effect_text(double largest, int microbatches) {
  const std::string text = fmt::format(
      "T1 does nothing here: no stage's delay is above 1 update (the largest is {:.3g})", largest);
  const auto most = std::llround(largest * microbatches) - 1;  // for a delay above 1
  if (most < 1) return text;
  return fmt::format("{}; it acts with {} or fewer", text,
                     most == 1 ? "1 micro-batch" : fmt::format("{} micro-batches", most));
}

std::string effect_text(const RateAnnealing& annealing) {
  std::string factors;
  for (const double factor : first_factors(annealing)) factors += fmt::format(" {:.3g}", factor);
  return fmt::format(
      "T1 multiplies the learning rates of stages 0 to {} by{} at step {}, and by 1 from step {} "
      "on",
      annealing.delays.size() - 1, factors, annealing.first_step + 1,
      annealing.first_step + annealing.anneal_steps + 1);
}

}  // namespace

std::string settle_annealing(Config& config, std::optional<std::int64_t> kept,
                             const TrainingLength& length) {
  PipelineConfig& pipeline = config.pipeline;
  auto& number = pipeline.pipemare.anneal_steps;
  if (!is_annealed(pipeline)) return "";
  if (!number) number = kept;
  const bool is_new = !number;
  number = anneal_steps(config, length.steps, length.steps_per_epoch);
  const RateAnnealing annealing = rate_annealing(config, length.steps, length.steps_per_epoch);
  if (number == 0) return "";
  if (length.steps <= annealing.first_step)
    return "T1 does nothing here: no update follows the synchronous warm-up";
  const double largest = std::ranges::max(annealing.delays);
  return (is_new ? annealed_steps_text(annealing, length.steps) : "") +
         (largest > 1 ? effect_text(annealing) : no_effect_text(largest, pipeline.microbatches));
}

namespace {

nlohmann::ordered_json annealing_json(const Config& config, const TrainingLength& length) {
  const RateAnnealing annealing = rate_annealing(config, length.steps, length.steps_per_epoch);
  nlohmann::ordered_json json = {{"anneal_steps", nullptr},
                                 {"delays", annealing.delays},
                                 {"rate_factors", first_factors(annealing)}};
  if (const auto number = config.pipeline.pipemare.anneal_steps) json["anneal_steps"] = *number;
  return json;
}

}  // namespace

void add_annealing(nlohmann::ordered_json& event, const Config& config,
                   const TrainingLength& length) {
  if (is_annealed(config.pipeline))
    event[config.pipeline.schedule] = annealing_json(config, length);
}

}  // namespace pipetrain
