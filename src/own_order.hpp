// An order of the user's own instead of a published one, from a csv file: what each worker runs,
// from top to bottom (program/csv.hpp).
//
//   worker,instruction
//   0,0F0
//   0,0F1
//   0,0B0
//   ...
//
// If there are only forwards and backwards (F, B, I, W), the rest is added as for a published
// order: an update after each mini-batch's last backward, and transfers, on the newest weights. A
// file with anything else, such as `pipetrain schedule NAME --format csv` writes, is the whole
// program, with the versions that it names.
#pragma once

#include <string_view>

#include "program/program.hpp"
#include "schedules.hpp"

namespace pipetrain {

struct OwnOrder {
  Program program;     // of one mini-batch or more; run again and again, drained in between
  bool whole = false;  // false: only forwards and backwards
  bool operator==(const OwnOrder&) const = default;
};

// Throws a UsageError with the line, what is wrong with it, and what to write.
OwnOrder parse_own_order(std::string_view csv, int workers, int microbatches);

// What is run. Of the request, only sync_gradients and recompute count: the file has the rest.
Program complete(const OwnOrder& order, const ScheduleRequest& request);

}  // namespace pipetrain
