// Reads instructions from a table, such as format_csv writes.
#pragma once

#include <string_view>
#include <vector>

#include "program/program.hpp"

namespace pipetrain {

struct CsvInstruction {
  WorkerId worker;
  Instruction instruction;
  int line = 0;  // from 1
};

// In the order of the lines. The first line names the columns: `worker` and `instruction` are read,
// others are ignored. Blank lines and lines that begin with # are skipped. Throws a UsageError that
// begins with the line.
std::vector<CsvInstruction> parse_csv(std::string_view text);

}  // namespace pipetrain
