// Profiles that were measured before, so that a model is measured once per machine: files under
// $XDG_CACHE_HOME/pipetrain, or ~/.cache/pipetrain.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "plan/profile.hpp"

namespace pipetrain {

struct CachedProfile {
  Profile profile;
  bool measured = false;  // now, not read
};

// The profile of this key with these sizes of micro-batches and threads: from the cache, else what
// `measure` measures, which is kept where the folder can be written. A file that is damaged counts
// as none.
CachedProfile cached_profile(const ProfileKey& key, const std::vector<int>& samples,
                             const std::vector<int>& threads,
                             const std::function<Profile()>& measure);
// Only if it is in the cache.
std::optional<Profile> cached_profile(const ProfileKey& key, const std::vector<int>& samples,
                                      const std::vector<int>& threads);

}  // namespace pipetrain
