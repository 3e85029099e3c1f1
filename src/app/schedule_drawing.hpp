// From the command line of `pipetrain schedule` to what is printed: for each name its numbers, and
// its program where a picture is drawn.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "compact_schedule.hpp"
#include "program/format.hpp"
#include "run/options.hpp"
#include "schedules.hpp"

namespace pipetrain {

// A whole program and its times.
struct Picture {
  Program program;
  Timeline line;
};

struct Drawing {
  ScheduleRequest request;
  const Schedule* row = nullptr;  // none: an order from a file
  std::string title;
  ProgramShape shape;
  Costs costs;
  std::vector<std::string> timeless;  // what computes in no time, a line for each kind
  Summary numbers;
  std::optional<Picture> picture;          // for formats that show one, and for orders from a file
  std::optional<CompactSchedule> compact;  // where only the lists are printed
  ScheduleView view() const { return {request.schedule, title, picture->program, picture->line}; }
};

// In the order of the names. Throws UsageError.
std::vector<Drawing> drawings_of(const Options& options);

}  // namespace pipetrain
