#include "run/data_changes.hpp"

#include <spdlog/fmt/fmt.h>
#include <spdlog/fmt/ranges.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <cstdint>
#include <string_view>

#include "base/counted.hpp"
#include "base/error.hpp"
#include "run/earlier_run.hpp"

namespace pipetrain {
namespace {

std::string change(const DataSum& then, const DataSum& now) {
  if (then.files != now.files)
    return fmt::format("{}: {} then, {} now", then.what, counted(then.files, "file"), now.files);
  if (then.sum.bytes != now.sum.bytes)
    return fmt::format("{}: {} then, {} now", then.what,
                       counted(static_cast<std::int64_t>(then.sum.bytes), "byte"), now.sum.bytes);
  return fmt::format("{}: the same number of files and bytes, but other content", then.what);
}

void compare_counts(std::vector<std::string>& changes, std::string_view what, std::int64_t then,
                    std::int64_t now) {
  if (then != now) changes.push_back(fmt::format("{} {} then, {} now", then, what, now));
}

}  // namespace

std::vector<std::string> data_changes(const DataSums& then, const DataSums& now) {
  std::vector<std::string> changes;
  for (const DataSum& file : now.files) {
    const auto before = std::ranges::find(then.files, file.what, &DataSum::what);
    if (before == then.files.end())
      changes.push_back(fmt::format("{}: did not exist then", file.what));
    else if (*before != file)
      changes.push_back(change(*before, file));
  }
  for (const DataSum& file : then.files)
    if (std::ranges::find(now.files, file.what, &DataSum::what) == now.files.end())
      changes.push_back(fmt::format("{}: is missing now", file.what));
  compare_counts(changes, "training samples", then.train_samples, now.train_samples);
  compare_counts(changes, "validation samples", then.validation_samples, now.validation_samples);
  return changes;
}

void check_data(const Checkpoint& checkpoint, const DataSums& now, bool accepted) {
  if (!checkpoint.manifest.data) return;
  const std::vector<std::string> changes = data_changes(*checkpoint.manifest.data, now);
  if (changes.empty()) return;
  const std::string told = fmt::format("{}: the data have changed since:\n  {}\n",
                                       checkpoint.folder.string(), fmt::join(changes, "\n  "));
  if (!accepted)
    throw UsageError(
        fmt::format("{}restore them, resume on the present data with --accept-changed-data, {}",
                    told, kWaysOut));
  spdlog::warn("{}accepted: training continues with the present data", told);
}

}  // namespace pipetrain
