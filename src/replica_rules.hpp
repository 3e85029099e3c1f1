// Which stages may have replicas, and how many: what order/replicas.hpp makes a pipeline of.
#pragma once

#include <vector>

#include "schedules.hpp"

namespace pipetrain {

// Of each stage; empty where none has a second one. UsageError where the request names neither one
// number nor one per stage.
std::vector<int> replicas_of(const ScheduleRequest& request);
// How many workers the request's stages have together.
int workers_of(const ScheduleRequest& request);

// Throws UsageError with the rule where the schedule cannot have these replicas.
void refuse_replicas(const Schedule& schedule, const ScheduleRequest& request);

}  // namespace pipetrain
