// Where spdlog's lines go.
#pragma once

#include "run/options.hpp"

namespace pipetrain {

// To standard error, so that standard output is the verb's alone; no line waits for its reader.
void set_up_logging(const Options& options);

}  // namespace pipetrain
