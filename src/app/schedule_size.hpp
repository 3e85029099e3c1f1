// How large a schedule `pipetrain schedule` takes on.
#pragma once

#include <string>
#include <vector>

#include "run/options.hpp"
#include "schedules.hpp"

namespace pipetrain {

// Of an order from a file.
bool names_csv(const std::string& name);

// Throws UsageError with the number that is too large.
void refuse_too_large(const std::vector<ScheduleRequest>& requests, const Options& options);

}  // namespace pipetrain
