// profile.json: a profile as a file. docs/planning.md lists its fields.
#pragma once

#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "plan/profile.hpp"

namespace pipetrain {

nlohmann::ordered_json profile_json(const Profile& profile);

// Throws a UsageError with what is missing, negative or not a number, and its place in the file
// ("points[2].layers[0].forward_ms"); a DataError if the file cannot be read.
Profile read_profile_json(const std::filesystem::path& file);
// The same for its text; `where` replaces the file in messages.
Profile parse_profile_json(const std::string& text, const std::string& where);

}  // namespace pipetrain
