// What this binary was made of: --build-info, and build.json of a run directory.
#pragma once

#include <nlohmann/json_fwd.hpp>

namespace pipetrain {

// {"pipetrain": "0.1.0", "compiler": ..., "onednn": ..., ...}
nlohmann::ordered_json build_info();

// A line each, or one JSON document.
void print_build_info(bool json);

}  // namespace pipetrain
