// The inline model of a config, between its own text and its place in [model].
#pragma once

#include <filesystem>
#include <string>

#include "config/sources.hpp"

namespace pipetrain::config {

// The parts as the text of a model file.
std::string model_text(const std::map<std::string, ModelPart>& parts);

// The other way: a [model] table with the model in it, and what else the config says there, as
// lines of TOML.
std::string model_table(const std::string& inline_model, const std::string& others);

}  // namespace pipetrain::config
