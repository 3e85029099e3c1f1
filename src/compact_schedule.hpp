// A schedule at sizes for which its program would be too large: its numbers, and the list of one
// worker at a time. Both are those of make_program (schedules.hpp); nothing is checked but what an
// order refuses and that the workers come to an end.
#pragma once

#include <vector>

#include "program/compact_order.hpp"
#include "program/summarize.hpp"
#include "schedules.hpp"
#include "versions/bind_worker.hpp"

namespace pipetrain {

struct CompactSchedule {
  const Schedule* row = nullptr;
  ScheduleRequest request;  // settled
  CompactOrder order;
};

// Throws UsageError where the schedule refuses the request.
CompactSchedule make_compact(const Schedule& row, const ScheduleRequest& request);

// What its passes add to the order.
Additions additions_of(const CompactSchedule& schedule);

// The numbers of simulate(make_program(..), charged(*schedule.row, costs)).
Summary summarize(const CompactSchedule& schedule, const Costs& costs);

// The lists of make_program(..), without recomputation.
class WorkerLists {
 public:
  explicit WorkerLists(const CompactSchedule& schedule);  // keeps a reference
  std::vector<Instruction> of(WorkerId worker);

 private:
  const CompactSchedule& schedule_;
  BindRule rule_;
  WorkerBinder binder_;
  Program one_;  // has instructions on one worker only
};

}  // namespace pipetrain
