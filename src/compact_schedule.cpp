#include "compact_schedule.hpp"

#include <utility>

#include "base/check.hpp"

namespace pipetrain {

CompactSchedule make_compact(const Schedule& row, const ScheduleRequest& request) {
  ScheduleRequest settled_request = settled(row, request);
  CompactOrder order = make_order(row, settled_request);
  return {&row, std::move(settled_request), std::move(order)};
}

Additions additions_of(const CompactSchedule& schedule) {
  const ScheduleRequest& request = schedule.request;
  return {.early_sends = request.early_sends,
          .recompute = request.recompute || request.segment_stages > 0 ||
                       (request.recomputed_gradient && !flushes(*schedule.row)),
          .syncing = syncing_stages(schedule.order, request)};
}

Summary summarize(const CompactSchedule& schedule, const Costs& costs) {
  const BindRule rule = bind_rule_of(schedule.request, flushes(*schedule.row));
  const Additions additions = additions_of(schedule);
  Summary summary = schedule.row->charges == Charges::Channels
                        ? summarize(schedule.order, costs, additions)
                        : summarize(schedule.order, charged(*schedule.row, costs), additions);
  summary.peak_weight_versions =
      peak_versions_of_workers(schedule.order, policy_of(*schedule.row, schedule.request), rule);
  return summary;
}

WorkerLists::WorkerLists(const CompactSchedule& schedule)
    : schedule_(schedule),
      rule_(bind_rule_of(schedule.request, flushes(*schedule.row))),
      binder_(schedule.order, policy_of(*schedule.row, schedule.request), rule_),
      one_{{schedule.order}, {}} {
  PIPETRAIN_CHECK(!additions_of(schedule).recompute,
                  "with whose weights a stage recomputes depends on the whole program");
  one_.workers.resize(schedule.order.workers.size());
}

// The passes handle one worker at a time, except the binding of versions, so one list is enough.
std::vector<Instruction> WorkerLists::of(WorkerId worker) {
  auto& list = one_.workers[worker];
  list = binder_.bind(worker);
  one_ = finish(complete_bound(std::move(one_), schedule_.request, flushes(*schedule_.row)),
                schedule_.request);
  return std::exchange(one_.workers[worker], {});
}

}  // namespace pipetrain
