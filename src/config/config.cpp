#include "config/config.hpp"

#include <cmath>

#include "own_order.hpp"
#include "schedules.hpp"

namespace pipetrain {

bool has_own_order(const PipelineConfig& pipeline) { return !pipeline.order_csv.empty(); }

OwnOrder own_order(const PipelineConfig& pipeline) {
  return parse_own_order(pipeline.order_csv, pipeline.stages, pipeline.microbatches);
}

TrainingRules training_rules(const PipelineConfig& pipeline) {
  return has_own_order(pipeline) ? TrainingRules{} : require_schedule(pipeline.schedule).training;
}

double motion_decay(const PipelineConfig& pipeline) {
  using Motion = TrainingRules::Motion;
  switch (training_rules(pipeline).motion) {
    case Motion::NotKept:
      return 0;
    case Motion::CorrectsBackward:
      return pipeline.pipemare.decay;
    case Motion::EstimatesForward:
      return pipeline.i_timeprest.stash ? 0 : pipeline.i_timeprest.decay;
  }
  return 0;
}

bool is_uncut(const PipelineConfig& pipeline) {
  return !has_own_order(pipeline) && require_schedule(pipeline.schedule).parts == Parts::Whole;
}

int model_parts(const PipelineConfig& pipeline) {
  if (has_own_order(pipeline)) return own_order(pipeline).program.stages;
  return model_parts(require_schedule(pipeline.schedule), pipeline.stages, pipeline.virtual_stages);
}

int stages_of_segment(const PipelineConfig& pipeline) {
  if (pipeline.recompute.rule != Recompute::Segments) return 0;
  if (pipeline.segment_stages > 0) return pipeline.segment_stages;
  return static_cast<int>(std::lround(std::sqrt(pipeline.stages)));
}

int moments(const OptimizerConfig& optimizer) {
  if (optimizer.kind != OptimizerKind::Sgd) return 2;
  return optimizer.momentum != 0 ? 1 : 0;
}

int worker_count(const PipelineConfig& pipeline) {
  if (has_own_order(pipeline)) return pipeline.stages;
  return workers_of(
      {.schedule = pipeline.schedule, .stages = pipeline.stages, .replicas = pipeline.replicas});
}

std::optional<LinkRate> link_of(const HardwareConfig& hardware) {
  const auto& [gbits, microseconds] = hardware.link;
  const bool host = hardware.backend != "cuda";  // a device sends its messages ahead of time
  if (!host || (gbits == 0 && microseconds == 0)) return std::nullopt;
  LinkRate rate{.latency_seconds = microseconds * 1e-6};
  if (gbits > 0) rate.bytes_per_second = gbits * 1e9 / 8;
  return rate;
}

std::string schedule_name(const PipelineConfig& pipeline) {
  return has_own_order(pipeline) ? pipeline.schedule_csv.filename().string() : pipeline.schedule;
}

}  // namespace pipetrain
