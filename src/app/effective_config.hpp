// Prints a verb's effective config, and the list of keys, without a run.
#pragma once

#include "run/options.hpp"

namespace pipetrain {

// The effective config, or only what differs from the defaults, as TOML (--dump-config).
void print_config(const Options& options);

// Every key with its default, as TOML with comments (--help-keys).
void print_keys();

}  // namespace pipetrain
