#include "plan/bapipe/schedules.hpp"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <limits>

namespace pipetrain {
namespace {

constexpr double kAnyTransfer = std::numeric_limits<double>::infinity();

int no_transfers(int, int) { return 0; }
int shallow(int stages, int stage) { return stages - stage; }

// Half of F + B: an activation travels during one of the two, a gradient during the other.
double half_of_compute(const PipelinePace& pace) { return pace.compute_ms() / 2; }

constexpr BapipeSchedule kBapipeSchedules[] = {
    {.name = "1f1b_as",
     .platform = Execution::Async,
     .keys = "schedule = \"1f1b\"",
     .summary = "one forward, one backward; transfers run beside the computation",
     .time = "(M + N - 1)(F + B)",
     .features = "(N - i + 1) a",
     .hides = "F",
     .transfers_paid = no_transfers,
     .depth = shallow,
     .hidden_ms = [](const PipelinePace& pace) { return pace.forward_ms; }},
    {.name = "fbp_as",
     .platform = Execution::Async,
     .keys = "schedule = \"fbp_as\"",
     .summary = "forward and backward of different micro-batches share a device at the same time",
     .time = "(M + N - 1)(F + B)",
     .features = "2(N - i + 1) a",
     .hides = "(F + B) / 2",
     .transfers_paid = no_transfers,
     .depth = [](int stages, int stage) { return 2 * (stages - stage); },
     .hidden_ms = half_of_compute},
    {.name = "1f1b_sno",
     .platform = Execution::Sync,
     .keys = "schedule = \"1f1b_sno\"",
     .summary = "one forward, one backward; a transfer occupies both of its devices",
     .time = "(M + N - 1)(F + B) + 2(N + M - 2) SR",
     .features = "(N - i + 1) a",
     .hides = "",
     .transfers_paid = [](int stages, int microbatches) { return 2 * (stages + microbatches - 2); },
     .depth = shallow,
     .hidden_ms = [](const PipelinePace&) { return kAnyTransfer; }},
    {.name = "1f1b_so",
     .platform = Execution::Sync,
     .keys = "schedule = \"1f1b\"\nwarmup = \"double\"",
     .summary = "the warm-up is doubled, so that computation hides transfers",
     .time = "(M + N - 1)(F + B) + 2(N - 1) SR",
     .features = "(2(N - i) + 1) a",
     .hides = "(F + B) / 2",
     .transfers_paid = [](int stages, int) { return 2 * (stages - 1); },
     .depth = [](int stages, int stage) { return 2 * (stages - 1 - stage) + 1; },
     .hidden_ms = half_of_compute},
};

}  // namespace

std::span<const BapipeSchedule> bapipe_schedules() { return kBapipeSchedules; }

const BapipeSchedule* find_bapipe_schedule(std::string_view name) {
  const auto found = std::ranges::find(kBapipeSchedules, name, &BapipeSchedule::name);
  return found == std::end(kBapipeSchedules) ? nullptr : &*found;
}

std::string schedule_keys(std::string_view name) {
  const BapipeSchedule* found = find_bapipe_schedule(name);
  return found ? std::string(found->keys) : fmt::format("schedule = \"{}\"", name);
}

double step_ms(const BapipeSchedule& schedule, int stages, int microbatches,
               const PipelinePace& pace) {
  return (microbatches + stages - 1) * pace.compute_ms() +
         schedule.transfers_paid(stages, microbatches) * pace.transfer_ms;
}

int features_kept(const BapipeSchedule& schedule, int stages, int stage, int microbatches) {
  return std::min(microbatches, schedule.depth(stages, stage));
}

}  // namespace pipetrain
