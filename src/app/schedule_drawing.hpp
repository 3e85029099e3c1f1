// From the command line of `pipetrain schedule` to what is printed: for each name the schedule's
// numbers, and its program if a picture is drawn.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "compact_schedule.hpp"
#include "program/format.hpp"
#include "run/options.hpp"
#include "schedules.hpp"

namespace pipetrain {

// A complete program and its times.
struct Picture {
  Program program;
  Timeline line;
};

struct Drawing {
  ScheduleRequest request;
  const Schedule* row = nullptr;  // null: an order from a file
  std::string title;
  bool colour = false;  // in its text
  ProgramShape shape;
  Costs costs;
  std::vector<std::string> timeless;  // operations that take no time, one line per kind
  Summary numbers;
  std::optional<Picture> picture;          // for formats that show one, and for orders from a file
  std::optional<CompactSchedule> compact;  // if only the lists are printed
  ScheduleView view() const {
    return {request.schedule, title, picture->program, picture->line, colour};
  }
};

// In the order of the names. Throws UsageError.
std::vector<Drawing> drawings_of(const Options& options);

}  // namespace pipetrain
