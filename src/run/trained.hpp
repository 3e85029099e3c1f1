// The results of a training, as eval and generate find them.
#pragma once

#include <filesystem>
#include <optional>

#include "config/config.hpp"
#include "run/options.hpp"

namespace pipetrain {

// The weights of --best or --model; otherwise those that the run wrote, the final ones or its
// newest checkpoint; otherwise those with which the config starts. DataError if there are none.
std::filesystem::path weights_to_read(const Options& options, const Config& config);

// The vocabulary.json of the run to which these weights, a file or a checkpoint, belong.
std::optional<std::filesystem::path> vocabulary_beside(const std::filesystem::path& weights);

// Likewise the pieces.model that a run on parallel text has kept.
std::optional<std::filesystem::path> pieces_beside(const std::filesystem::path& weights);

// Likewise the classes.json that a run on image folders has kept.
std::optional<std::filesystem::path> class_names_beside(const std::filesystem::path& weights);

}  // namespace pipetrain
