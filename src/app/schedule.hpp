// pipetrain schedule NAME: the program of a schedule, with no device.
#pragma once

#include "run/options.hpp"

namespace pipetrain {

// Prints to standard output; returns the exit code. Throws UsageError before anything is printed.
int schedule(const Options& options);

}  // namespace pipetrain
