// How large a schedule `pipetrain schedule` accepts.
#pragma once

#include <string>
#include <vector>

#include "run/options.hpp"
#include "schedules.hpp"

namespace pipetrain {

// Does it name the file of an order?
bool names_csv(const std::string& name);

// Throws UsageError with the number that is too large.
void refuse_too_large(const std::vector<ScheduleRequest>& requests, const Options& options);

}  // namespace pipetrain
