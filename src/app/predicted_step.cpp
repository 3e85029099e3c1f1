#include "app/predicted_step.hpp"

#include "app/kept_profile.hpp"
#include "base/error.hpp"

namespace pipetrain {

std::optional<PredictedStep> step_by_cached_profile(const CompiledPipeline& pipeline,
                                                    const Dataset& train) {
  const std::optional<Profile> profile = kept_profile(pipeline.in.config, pipeline.in.graph, train);
  if (!profile) return std::nullopt;
  try {
    return predict_step(pipeline, *profile);
  } catch (const UsageError&) {  // not measured with this number of threads
    return std::nullopt;
  }
}

}  // namespace pipetrain
