// Which stages may have replicas, and how many: the rules, and the messages that refuse.
#include "schedules.hpp"

#include <algorithm>
#include <numeric>
#include <string>

#include <spdlog/fmt/fmt.h>
#include <spdlog/fmt/ranges.h>
#include "base/error.hpp"

namespace pipetrain {
namespace {

constexpr int most_workers = 1024;  // the limit of pipeline.stages
constexpr int longest_round = 1024;

std::string schedules_with_replicas() {
  std::vector<std::string_view> names;
  for (const Schedule& row : schedules())
    if (row.replicas != Replicas::None) names.push_back(row.name);
  return fmt::format("{}", fmt::join(names, ", "));
}

void refuse_kind(const Schedule& schedule, const ScheduleRequest& request, int most, bool differ) {
  if (schedule.replicas == Replicas::None)
    throw UsageError(
        fmt::format("{} runs without replicas; write replicas = 1, or one of the schedules that "
                    "take them: {}",
                    schedule.name, schedules_with_replicas()));
  if (differ && schedule.replicas == Replicas::Equal)
    throw UsageError(
        fmt::format("{} needs the same number of replicas on every stage; write replicas = {}",
                    schedule.name, most));
  if (request.vertical_sync && schedule.vertical)
    throw UsageError(
        "vertical_sync names one version for all stages, but stages with replicas count their "
        "updates differently; write replicas = 1, or vertical_sync = false");
}

// The longest warm-up begins more micro-batches than stages with unequal replicas come round to,
// and workers could wait for each other forever.
void refuse_full_warmup(const ScheduleRequest& request, bool differ) {
  if (!differ || request.warmup != Warmup::Full) return;
  throw UsageError(fmt::format(
      "warmup = \"full\" needs the same number of replicas on every stage; write warmup = "
      "\"1f1b\" or \"double\", or replicas = {}",
      *std::ranges::max_element(request.replicas)));
}

// If replicas share each mini-batch, each must have something to do in it.
void refuse_idle(const ScheduleRequest& request, int most) {
  if (request.microbatches >= most) return;
  throw UsageError(
      fmt::format("{} replicas share the micro-batches of a mini-batch, so microbatches must be at "
                  "least {}; write microbatches = {}, or replicas of at most {}",
                  most, most, most, request.microbatches));
}

// If they take mini-batches in turn, a round lasts until all stages are at their first again.
void refuse_long_round(const std::vector<int>& replicas) {
  int round = 1;
  for (const int count : replicas) {
    round = std::lcm(round, count);
    if (round > longest_round)
      throw UsageError(
          fmt::format("replicas = [{}] all return to their first replica only after more than "
                      "{} mini-batches; write numbers that divide each other, such as 4, 2 and 1",
                      fmt::join(replicas, ", "), longest_round));
  }
}

void refuse_tied(const std::vector<int>& replicas, const std::set<StageId>& tied) {
  for (const StageId stage : tied) {
    const std::size_t of = static_cast<std::size_t>(stage.value) % replicas.size(),
                      first = static_cast<std::size_t>(tied.begin()->value) % replicas.size();
    if (replicas[of] != replicas[first])
      throw UsageError(fmt::format(
          "stages {} and {} share a parameter and need the same number of replicas, but have {} "
          "and {}; write the same number for both, or a split that puts their layers on one stage",
          tied.begin()->value, stage.value, replicas[first], replicas[of]));
  }
}

}  // namespace

std::vector<int> replicas_of(const ScheduleRequest& request) {
  std::vector<int> replicas = request.replicas;
  if (std::ranges::all_of(replicas, [](int count) { return count == 1; })) return {};
  if (replicas.size() == 1) replicas.assign(static_cast<std::size_t>(request.stages), replicas[0]);
  if (std::ssize(replicas) != request.stages)
    throw UsageError(
        fmt::format("replicas = [{}] has {} numbers for stages = {}; write one number for each "
                    "stage, or one for all",
                    fmt::join(replicas, ", "), replicas.size(), request.stages));
  return replicas;
}

int workers_of(const ScheduleRequest& request) {
  const std::vector<int> replicas = replicas_of(request);
  return replicas.empty() ? request.stages : std::accumulate(replicas.begin(), replicas.end(), 0);
}

void refuse_replicas(const Schedule& schedule, const ScheduleRequest& request) {
  const std::vector<int> replicas = replicas_of(request);
  if (replicas.empty()) return;
  const int most = *std::ranges::max_element(replicas);
  const bool differ = std::ranges::adjacent_find(replicas, std::not_equal_to<>()) != replicas.end();
  std::int64_t workers = 0;
  for (const int count : replicas) {
    if (count < 1)
      throw UsageError(fmt::format("replicas = {} is too small; write at least 1", count));
    workers += count;
  }
  if (workers > most_workers)
    throw UsageError(fmt::format("replicas = [{}] makes {} workers; {} is the limit",
                                 fmt::join(replicas, ", "), workers, most_workers));
  refuse_kind(schedule, request, most, differ);
  if (takes_warmup(schedule)) refuse_full_warmup(request, differ);
  if (schedule.replicas == Replicas::TakeMinibatches) {
    refuse_long_round(replicas);
  } else {
    refuse_idle(request, most);
  }
  refuse_tied(replicas, request.tied);
}

}  // namespace pipetrain
