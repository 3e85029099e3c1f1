#include "app/kept_profile.hpp"

#include "app/plan_input.hpp"
#include "profile/cache.hpp"
#include "profile/measure.hpp"

namespace pipetrain {

std::optional<Profile> kept_profile(const Config& config, const Graph& graph,
                                    const Dataset& train) {
  const ProfileKey key = profile_key(config, graph);
  const std::int64_t minibatch = config.data.batch_size;
  if (auto profile = cached_profile(key, microbatch_sizes_to_measure(minibatch, train),
                                    threads_to_measure(config)))
    return profile;
  const int workers =
      config.hardware.workers == Workers::Inline ? 1 : worker_count(config.pipeline);
  return cached_profile(key, {static_cast<int>(minibatch / config.pipeline.microbatches)},
                        {threads_of(config, workers)});
}

}  // namespace pipetrain
