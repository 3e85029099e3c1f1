#include "run/divergence.hpp"

#include <spdlog/fmt/fmt.h>

#include <cmath>

#include "base/error.hpp"
#include "data/finite.hpp"
#include "graph/graph.hpp"

namespace pipetrain {
namespace {

// The first parameter whose gradient is not finite, with its layer and stage; if there is none,
// only the loss is not finite.
std::string where_it_began(const TrainingParts& parts, const StepRecord& record) {
  std::size_t p = 0;
  for (std::size_t l = 0; l < parts.graph.layers.size(); ++l) {
    const Layer& layer = parts.graph.layers[l];
    for (const Parameter& parameter : layer.parameters)
      if (!std::isfinite(record.sums_of_squares[p++]))
        return fmt::format("the first non-finite gradient is that of {}, layer \"{}\" on stage {}",
                           parameter.name, layer.name,
                           stage_of(parts.plan, LayerId{static_cast<int>(l)}).value);
  }
  return fmt::format(
      "every gradient is finite, only the loss is not, after layer \"{}\" on stage {}",
      parts.graph.layers.back().name, parts.plan.stages.size() - 1);
}

std::string bad_samples(const TrainingParts& parts, std::int64_t step) {
  const auto order = parts.train.order(training_order(parts.config));
  const auto bad = nonfinite_samples(parts.train, order->of(step).samples);
  if (bad.empty()) return "";
  return fmt::format(
      ". The data of {} of the mini-batch's samples are not finite, first training sample {} (from "
      "0): correct the data first",
      bad.size(), bad.front());
}

}  // namespace

void check_divergence(const TrainingParts& parts, const StepRecord& record, const StepSummary& s) {
  if (parts.config.training.on_nonfinite == OnNonfinite::Skip) return;
  if (std::isfinite(s.loss) && std::isfinite(s.grad_norm)) return;
  throw DivergedError(fmt::format(
      "training diverged at step {}: loss {}, gradient norm {}; {}{}; lower optimizer.lr, set "
      "optimizer.max_norm, or skip such updates with training.on_nonfinite = \"skip\"",
      s.step, s.loss, s.grad_norm, where_it_began(parts, record), bad_samples(parts, record.step)));
}

}  // namespace pipetrain
