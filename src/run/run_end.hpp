// What the console says when a run has ended, from the `end` event of its metrics.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>

namespace pipetrain {

// The last model and the best one, each with its validation and its path.
std::string end_text(const nlohmann::ordered_json& end, const std::filesystem::path& run);

// The same for a run that a signal ended.
std::string interrupted_text(const nlohmann::ordered_json& end, const std::filesystem::path& run);

}  // namespace pipetrain
