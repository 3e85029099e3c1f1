// A verb's effective config, and the list of keys: printed without a run.
#pragma once

#include "run/options.hpp"

namespace pipetrain {

// The effective config, or what of it differs from the defaults, as TOML (--dump-config).
void print_config(const Options& options);

// Every key with its default, as TOML with comments (--help-keys).
void print_keys();

}  // namespace pipetrain
