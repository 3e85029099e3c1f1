// Lets eval and generate take a run directory in place of a config: the folder keeps the config
// with which it was trained.
#pragma once

#include "run/options.hpp"

namespace pipetrain {

// If CONFIG is a folder, takes its config.resolved.toml, and its weights unless --output or --model
// says otherwise. UsageError if there is nothing of that name, or the folder is not a run
// directory.
Options with_run_directory(Options options);

}  // namespace pipetrain
