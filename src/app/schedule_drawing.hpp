// From the command line of `pipetrain schedule` to what is printed: for each name a program and its
// times.
#pragma once

#include <string>
#include <vector>

#include "program/format.hpp"
#include "run/options.hpp"
#include "schedules.hpp"

namespace pipetrain {

struct Drawing {
  ScheduleRequest request;
  const Schedule* row = nullptr;  // none: an order from a file
  std::string title;
  Program program;
  Costs costs;
  Timeline line;
  ScheduleView view() const { return {request.schedule, title, program, line}; }
};

// In the order of the names. Throws UsageError.
std::vector<Drawing> drawings_of(const Options& options);

}  // namespace pipetrain
