// pipetrain schedule NAME: shows the program of a schedule, without a device.
#pragma once

#include "run/options.hpp"

namespace pipetrain {

// Prints to standard output; returns the exit code. Throws UsageError before anything is printed.
int schedule(const Options& options);

}  // namespace pipetrain
