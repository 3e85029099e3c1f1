#include "config/config.hpp"

#include "schedules.hpp"

namespace pipetrain {

int model_parts(const PipelineConfig& pipeline) {
  return model_parts(require_schedule(pipeline.schedule), pipeline.stages, pipeline.virtual_stages);
}

}  // namespace pipetrain
