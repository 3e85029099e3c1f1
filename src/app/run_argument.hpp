// eval and generate take a run directory in place of a config: the folder keeps the config that it
// was trained with.
#pragma once

#include "run/options.hpp"

namespace pipetrain {

// Where CONFIG is a folder: its config.resolved.toml, and its weights unless --output or --model
// says otherwise. UsageError for a folder that is no run's.
Options with_run_directory(Options options);

}  // namespace pipetrain
