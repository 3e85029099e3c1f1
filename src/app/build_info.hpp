// What this binary was built from: --build-info, and a run directory's build.json.
#pragma once

#include <nlohmann/json_fwd.hpp>

namespace pipetrain {

// {"pipetrain": "0.1.0", "compiler": ..., "onednn": ..., ...}
nlohmann::ordered_json build_info();

// One line each, or one JSON document.
void print_build_info(bool json);

}  // namespace pipetrain
