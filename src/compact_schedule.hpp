// A schedule at sizes for which its program would be too large: its numbers, and the list of one
// worker at a time. Both equal those of make_program (schedules.hpp). The only checks are an
// order's refusals, and that the workers finish.
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

// Throws a UsageError if the schedule refuses the request.
CompactSchedule make_compact(const Schedule& row, const ScheduleRequest& request);

// What its passes add to the order.
Additions additions_of(const CompactSchedule& schedule);

// The same numbers as simulate(make_program(..), charged(*schedule.row, costs)).
Summary summarize(const CompactSchedule& schedule, const Costs& costs);

// The same lists as make_program(..), without recomputation.
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
