#include "run/communicated.hpp"

#include <spdlog/fmt/fmt.h>

#include "program/communication_json.hpp"

namespace pipetrain {
namespace {

std::string link_text(double seconds, const HardwareConfig& hardware) {
  if (seconds <= 0) return "";
  return fmt::format(
      "; {} on links, one message after the other{}",
      seconds < 1 ? fmt::format("{:.3g} ms", 1e3 * seconds) : fmt::format("{:.3g} s", seconds),
      hardware.workers == Workers::Inline ? " (hardware.workers = \"inline\" waits for none)" : "");
}

}  // namespace

Communicated::Communicated(const Pipeline& pipeline, const Dataset& train,
                           const OrderOptions& order)
    : pipeline_(pipeline), order_(train.order(order)), sizes_(order_->sizes()) {}

// Makes a new forecast if pipeline.rebalance has moved the cuts, or PipeMare's synchronous epochs
// have ended.
void Communicated::look_at_program(std::int64_t first) {
  const CompiledPipeline& compiled = pipeline_.compiled();
  const bool warms_up = first < warmup_steps(compiled.in.config, compiled.in.steps_per_epoch);
  std::vector<LayerId> firsts;
  for (const StagePlan& stage : pipeline_.input().plan.stages) firsts.push_back(stage.first);
  if (forecast_ && firsts == firsts_ && warms_up == warms_up_) return;
  firsts_ = std::move(firsts);
  warms_up_ = warms_up;
  const PipelineNeeds& needs = compiled.needs;
  forecast_.emplace(compiled, (warms_up ? needs.warmup : needs.program).program);
}

void Communicated::end_segment(std::int64_t first, std::int64_t count) {
  look_at_program(first);
  predicted_.add(forecast_->segment(count, [&](std::int64_t k) {
    if (sizes_.size() == 1) return sizes_.front();
    const Minibatch minibatch = order_->of(first + k);
    return MinibatchSize{std::ssize(minibatch.samples), minibatch.lengths};
  }));
}

std::optional<nlohmann::ordered_json> Communicated::json() const {
  if (counted_.total().messages == 0 && predicted_.total().messages == 0) return std::nullopt;
  return nlohmann::ordered_json{{"counted", communication_json(counted_)},
                                {"predicted", communication_json(predicted_)}};
}

nlohmann::ordered_json forecast_json(const CompiledPipeline& pipeline) {
  const auto period = CommunicationForecast(pipeline).period();
  nlohmann::ordered_json json = {{"minibatches", period.minibatches}, {"samples", period.samples}};
  json.update(communication_json(period.communication));
  return json;
}

std::string forecast_text(const CompiledPipeline& pipeline) {
  const auto period = CommunicationForecast(pipeline).period();
  return fmt::format("{} {}{}",
                     period.minibatches == 1 ? std::string("a mini-batch")
                                             : fmt::format("{} mini-batches", period.minibatches),
                     communication_text(period.communication),
                     link_text(period.communication.link_seconds(), pipeline.in.config.hardware));
}

}  // namespace pipetrain
