// Numbers on the command line. Refuses what CLI11's own Range accepts (nan, -1 as 2^64 - 1, octal
// 010, overflow), and says which numbers may be written.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>

namespace pipetrain {

CLI::Validator whole_number(std::uint64_t least, std::uint64_t most);  // decimal digits
CLI::Validator number(double least, double most);

}  // namespace pipetrain
