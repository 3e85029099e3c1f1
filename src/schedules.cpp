#include "schedules.hpp"

#include <algorithm>
#include <array>
#include <vector>

#include "base/check.hpp"
#include "base/error.hpp"
#include "base/suggest.hpp"
#include "order/orders.hpp"
#include "program/check.hpp"
#include "program/passes.hpp"
#include "versions/bind.hpp"
#include "versions/versions.hpp"

namespace pipetrain {
namespace {

// clang-format off
const std::array table{
    Schedule{"gpipe", "all forwards, then all backwards, one flush per mini-batch",
             "Huang et al., arXiv 1811.06965, section 2.2", &orders::gpipe, &versions::latest, true},
    Schedule{"1f1b", "one forward, one backward, at most P micro-batches in flight, one flush per mini-batch",
             "Narayanan et al., arXiv 2006.09503, section 3.2 (PipeDream-Flush)", &orders::one_f_one_b, &versions::latest, true},
};
// clang-format on

constexpr std::array<std::string_view, 13> to_come{
    "interleaved_1f1b", "zb_h1",         "zb_h2",    "zb_v",      "chimera",
    "pipedream",        "pipedream_2bw", "pipemare", "timeprest", "v_timeprest",
    "i_timeprest",      "data_parallel", "auto"};

std::string names() {
  std::string text;
  for (const auto& row : table) text += (text.empty() ? "" : ", ") + std::string(row.name);
  return text;
}

std::string did_you_mean(std::string_view name) {
  std::vector<std::string_view> known(to_come.begin(), to_come.end());
  for (const auto& row : table) known.push_back(row.name);
  return suggest(name, known);
}

void require_positive(std::string_view what, int value) {
  if (value < 1) throw UsageError(fmt::format("{} = {}: it is at least 1", what, value));
}

}  // namespace

std::span<const Schedule> schedules() { return table; }

std::span<const std::string_view> schedules_to_come() { return to_come; }

const Schedule* find_schedule(std::string_view name) {
  for (const auto& row : table)
    if (row.name == name) return &row;
  return nullptr;
}

const Schedule& require_schedule(std::string_view name) {
  if (const auto* found = find_schedule(name)) return *found;
  if (std::find(to_come.begin(), to_come.end(), name) != to_come.end())
    throw UsageError(fmt::format("schedule `{}` is not built yet; use one of: {}", name, names()));
  throw UsageError(fmt::format("no schedule is called `{}`; use one of: {}{}", name, names(),
                               did_you_mean(name)));
}

Program make_program(const ScheduleRequest& request) {
  return make_program(require_schedule(request.schedule), request);
}

Program make_program(const Schedule& schedule, const ScheduleRequest& request) {
  require_positive("stages", request.stages);
  require_positive("microbatches", request.microbatches);
  require_positive("steps", request.minibatches);
  auto program = schedule.order->make({.stages = request.stages,
                                       .microbatches = request.microbatches,
                                       .minibatches = request.minibatches});
  program = bind_versions(add_updates(std::move(program)), *schedule.versions);
  program = add_loads(std::move(program));
  if (request.sync_gradients) program = add_gradient_sync(std::move(program));
  program = add_transfers(std::move(program));
  const auto problems = check(program);
  PIPETRAIN_CHECK(problems.empty(), "schedule {} makes an ill-formed program\n{}", schedule.name,
                  show(program, problems));
  return program;
}

}  // namespace pipetrain
