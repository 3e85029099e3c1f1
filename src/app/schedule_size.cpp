#include "app/schedule_size.hpp"

#include <algorithm>

#include <spdlog/fmt/fmt.h>
#include "base/error.hpp"

namespace pipetrain {
namespace {

constexpr double gib = 1024. * 1024 * 1024, most_printed = 4 * gib;
constexpr int most_stages_drawn = 1024;

// At most how much would be made.
struct Size {
  double computed = 0;  // forwards and backwards, counting both halves of a backward
  double kept = 0;      // of those, kept in memory: one mini-batch's if the schedule flushes
  double micro = 0;     // micro-batches times stages
  int minibatches = 1;
};

Size size_of(const std::vector<ScheduleRequest>& requests, bool kept_together) {
  Size size;
  for (const ScheduleRequest& r : requests) {
    if (names_csv(r.schedule)) continue;
    const Schedule& row = require_schedule(r.schedule);
    const double micro = 1. * model_parts(row, r.stages, r.virtual_stages) * r.microbatches;
    const double kept = 3 * micro * (flushes(row) ? 1 : r.minibatches);
    size.micro += micro * r.minibatches;
    size.computed += 3 * micro * r.minibatches;
    size.kept = kept_together ? size.kept + kept : std::max(size.kept, kept);
    size.minibatches = std::max(size.minibatches, r.minibatches);
  }
  return size;
}

[[noreturn]] void refuse(const ScheduleRequest& first, const Size& size, const std::string& why) {
  throw UsageError(fmt::format("--stages {}, --microbatches {} and {} mini-batches (--steps) {}",
                               first.stages, first.microbatches, size.minibatches, why));
}

// A micro-batch has at most seven instructions on a stage: input, forward, send, receive, the two
// parts of backward, send. The bytes are as measured: the program, its check, its simulation and
// the output.
void refuse_large_picture(const std::vector<ScheduleRequest>& requests, const Options& options) {
  const Size size = size_of(requests, true);
  const double instructions = 7 * size.micro,
               bytes = instructions * (options.format == "trace" ? 1800 : 400);
  if (bytes > most_printed)
    refuse(requests[0], size,
           fmt::format("make up to {:.2g} instructions, which would take {:.1f} GiB of memory; 4 "
                       "GiB is the limit: write smaller numbers, or --summary for the numbers "
                       "alone",
                       instructions, bytes / gib));
  if (requests[0].stages > most_stages_drawn)
    throw UsageError(fmt::format(
        "--stages {}: --format {} takes at most {}; write fewer, or use --summary or --format json",
        requests[0].stages, options.format, most_stages_drawn));
}

// An order takes eight bytes per forward or backward; what is in flight adds little.
void refuse_large_order(const std::vector<ScheduleRequest>& requests, bool kept_together) {
  const Size size = size_of(requests, kept_together);
  constexpr double most_computed = 1e9;
  if (const double bytes = 10 * size.kept; bytes > most_printed)
    refuse(requests[0], size,
           fmt::format("make up to {:.2g} forwards and backwards, which would take {:.1f} GiB of "
                       "memory; 4 GiB is the limit: write smaller numbers",
                       size.kept, bytes / gib));
  if (size.computed > most_computed)
    refuse(requests[0], size,
           fmt::format("make up to {:.2g} forwards and backwards; {:.0g} is the limit: write "
                       "smaller numbers",
                       size.computed, most_computed));
}

// One worker's instructions at a time, before and after a pass, and their text.
void refuse_long_lists(const std::vector<ScheduleRequest>& requests) {
  for (const ScheduleRequest& r : requests) {
    const Size size = size_of({r}, true);
    const double instructions = 7 * size.micro / r.stages, bytes = 160 * instructions;
    if (bytes > most_printed)
      refuse(r, size,
             fmt::format("make up to {:.2g} instructions on a worker, which would take {:.1f} GiB "
                         "of memory; 4 GiB is the limit: write smaller numbers, or --summary for "
                         "the numbers alone",
                         instructions, bytes / gib));
  }
}

}  // namespace

bool names_csv(const std::string& name) { return name.ends_with(".csv"); }

void refuse_too_large(const std::vector<ScheduleRequest>& requests, const Options& options) {
  const bool lists = options.format == "json" && !options.summary;
  if (!options.summary && !lists) return refuse_large_picture(requests, options);
  if (lists) refuse_long_lists(requests);
  refuse_large_order(requests, lists);
}

}  // namespace pipetrain
