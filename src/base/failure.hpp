// What any exception means for a user: a message, and the exit code that it ends the program with.
#pragma once

#include <exception>
#include <string>

#include "base/error.hpp"

namespace pipetrain {

struct Failure {
  std::string message;
  ExitCode code = ExitCode::Bug;
};

Failure failure_of(const std::exception& error);

}  // namespace pipetrain
