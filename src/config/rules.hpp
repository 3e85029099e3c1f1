// Rules that join several keys: what no single value shows to be wrong.
#pragma once

#include <string>
#include <vector>

#include "config/config.hpp"
#include "config/given.hpp"

namespace pipetrain::config {

// Of two keys of which only one can hold, the later source wins and the other goes back to its
// default; both in one source is a problem.
void settle(const Given& given, Config& config, Problems& problems);

// Every rule that a settled config breaks.
void check_rules(const Given& given, const Config& config, Problems& problems);
// Those of them that are about the pipeline, and about data and validation.
void check_pipeline(const Given& given, const Config& config, Problems& problems);
void check_data(const Given& given, const Config& config, Problems& problems);

// Keys that have no effect under the chosen kind or schedule, in words.
std::vector<std::string> unused_keys(const Given& given, const Config& config);

}  // namespace pipetrain::config
