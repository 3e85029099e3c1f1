// Rules over several keys: what no single value shows to be wrong.
#pragma once

#include <string>
#include <vector>

#include "config/config.hpp"
#include "config/given.hpp"

namespace pipetrain::config {

// Of two keys that exclude each other, the later source wins and the other key goes back to its
// default. Both in one source is a problem.
void settle(const Given& given, Config& config, Problems& problems);

// Finds every rule that a settled config breaks.
void check_rules(const Given& given, const Config& config, Problems& problems);
// The part of them about the pipeline, and the part about data and validation.
void check_pipeline(const Given& given, const Config& config, Problems& problems);
void check_data(const Given& given, const Config& config, Problems& problems);

// Keys that have no effect under the chosen kind or schedule, or without validation, in words.
std::vector<std::string> unused_keys(const Given& given, const Config& config);

// Keys whose values take away what makes the chosen schedule what it is, in words.
std::vector<std::string> degenerate_keys(const Given& given, const Config& config);

// Puts keys that have no effect back to their defaults, so that nothing that reads a config has to
// know the kinds.
void reset_unused(Config& config);

}  // namespace pipetrain::config
