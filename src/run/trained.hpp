// The results of a training, as eval and generate find them.
#pragma once

#include <filesystem>
#include <optional>

#include "config/config.hpp"
#include "run/options.hpp"

namespace pipetrain {

// --best, --model, else what the run wrote: its final weights or its newest checkpoint; else what
// the config begins with. DataError where there is nothing.
std::filesystem::path weights_to_read(const Options& options, const Config& config);

// The vocabulary.json of the run that these weights, a file or a checkpoint, belong to.
std::optional<std::filesystem::path> vocabulary_beside(const std::filesystem::path& weights);

// Likewise the pieces.model that a run of parallel text has kept.
std::optional<std::filesystem::path> pieces_beside(const std::filesystem::path& weights);

// Likewise the classes.json that a run of image folders has kept.
std::optional<std::filesystem::path> class_names_beside(const std::filesystem::path& weights);

}  // namespace pipetrain
