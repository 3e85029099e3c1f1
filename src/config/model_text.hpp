// The inline model of a config: from [model] to the text of a model file, and back.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>

#include "config/sources.hpp"

namespace pipetrain::config {

// The parts, as the text of a model file.
std::string model_text(const std::map<std::string, ModelPart>& parts);

// Where each part was written, by the number of its first line in that text, from 1.
std::map<std::int64_t, std::string> model_places(const std::map<std::string, ModelPart>& parts);

// The reverse of model_text(): a [model] table with that model in it, and with the other keys that
// the config sets there, as lines of TOML.
std::string model_table(const std::string& inline_model, const std::string& others);

}  // namespace pipetrain::config
