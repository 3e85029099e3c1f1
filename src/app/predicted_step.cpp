#include "app/predicted_step.hpp"

#include "base/error.hpp"
#include "profile/cache.hpp"
#include "profile/measure.hpp"

namespace pipetrain {

std::optional<PredictedStep> step_by_cached_profile(const CompiledPipeline& pipeline,
                                                    const Dataset& train) {
  const Config& config = pipeline.in.config;
  const std::optional<Profile> profile = cached_profile(
      profile_key(config, pipeline.in.graph),
      microbatch_sizes_to_measure(config.data.batch_size, train), threads_to_measure(config));
  if (!profile) return std::nullopt;
  try {
    return predict_step(pipeline, *profile);
  } catch (const UsageError&) {  // not measured with this number of threads
    return std::nullopt;
  }
}

}  // namespace pipetrain
