// A program as the csv file of a user's own order.
#pragma once

#include <string>

#include "program/format.hpp"
#include "program/simulate.hpp"

namespace pipetrain::testing {

inline std::string csv_of(const Program& program) {
  const Timeline line = simulate(program, {});
  return format_csv({"", "", program, line});
}

}  // namespace pipetrain::testing
