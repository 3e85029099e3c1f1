#include "profile/cache.hpp"

#include <spdlog/fmt/fmt.h>
#include <spdlog/fmt/ranges.h>

#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/error.hpp"
#include "base/json_text.hpp"
#include "base/rng.hpp"
#include "checkpoint/atomic_file.hpp"
#include "profile/profile_json.hpp"

namespace pipetrain {
namespace {

namespace fs = std::filesystem;

fs::path cache_folder() {
  if (const char* const cache = std::getenv("XDG_CACHE_HOME"); cache && *cache)
    return fs::path(cache) / "pipetrain";
  if (const char* const home = std::getenv("HOME"); home && *home)
    return fs::path(home) / ".cache" / "pipetrain";
  return {};
}

fs::path file_of(const ProfileKey& key, const std::vector<int>& samples,
                 const std::vector<int>& threads) {
  const std::string all = fmt::format(
      "{}|{}|{}|{}|{}|{}|{}|{}|{}", key.model, key.shapes, key.precision, key.backend,
      key.optimizer, key.machine, key.library, fmt::join(samples, ","), fmt::join(threads, ","));
  return cache_folder() / fmt::format("profile-{:016x}.json", hash_name(all));
}

std::optional<Profile> kept(const fs::path& file, const ProfileKey& key) {
  try {
    Profile profile = read_profile_json(file);
    if (profile.key == key) return profile;
  } catch (const Error&) {  // missing or damaged: it is measured again
  }
  return std::nullopt;
}

}  // namespace

CachedProfile cached_profile(const ProfileKey& key, const std::vector<int>& samples,
                             const std::vector<int>& threads,
                             const std::function<Profile()>& measure) {
  if (auto profile = cached_profile(key, samples, threads)) return {*std::move(profile), false};
  CachedProfile made{measure(), true};
  keep_profile(made.profile, samples, threads);
  return made;
}

std::optional<Profile> cached_profile(const ProfileKey& key, const std::vector<int>& samples,
                                      const std::vector<int>& threads) {
  if (cache_folder().empty()) return std::nullopt;
  return kept(file_of(key, samples, threads), key);
}

void keep_profile(const Profile& profile, const std::vector<int>& samples,
                  const std::vector<int>& threads) {
  if (cache_folder().empty()) return;
  try {
    const fs::path file = file_of(profile.key, samples, threads);
    fs::create_directories(file.parent_path());
    write_file(file, json_text(profile_json(profile), 1) + "\n");
  } catch (const std::exception&) {  // the next run measures again
  }
}

}  // namespace pipetrain
