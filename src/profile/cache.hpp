// Profiles that were measured earlier, so that a model is measured once per machine: files under
// $XDG_CACHE_HOME/pipetrain, or ~/.cache/pipetrain.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "plan/profile.hpp"

namespace pipetrain {

struct CachedProfile {
  Profile profile;
  bool measured = false;  // just now, and not read from the cache
};

// The profile of this key with these sizes of micro-batches and these threads: from the cache,
// otherwise from `measure`, and then saved if the folder can be written. A damaged file counts as
// missing.
CachedProfile cached_profile(const ProfileKey& key, const std::vector<int>& samples,
                             const std::vector<int>& threads,
                             const std::function<Profile()>& measure);
// The same, but only from the cache; none if it is not there.
std::optional<Profile> cached_profile(const ProfileKey& key, const std::vector<int>& samples,
                                      const std::vector<int>& threads);
// Keeps a profile that was measured with them, if the folder can be written.
void keep_profile(const Profile& profile, const std::vector<int>& samples,
                  const std::vector<int>& threads);

}  // namespace pipetrain
