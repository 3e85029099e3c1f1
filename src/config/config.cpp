#include "config/config.hpp"

#include "schedules.hpp"

namespace pipetrain {

int model_parts(const PipelineConfig& pipeline) {
  if (pipeline.own_order) return pipeline.own_order->program.stages;
  return model_parts(require_schedule(pipeline.schedule), pipeline.stages, pipeline.virtual_stages);
}

std::string schedule_name(const PipelineConfig& pipeline) {
  return pipeline.own_order ? pipeline.schedule_csv.filename().string() : pipeline.schedule;
}

}  // namespace pipetrain
