// The config of a training, from its command line and from what an earlier start has kept.
#pragma once

#include <filesystem>

#include "config/read.hpp"
#include "run/options.hpp"

namespace pipetrain {

// UsageError.
ReadConfig read_training_config(const Options& options);

// Pieces are trained at the first start alone: a run that is resumed has kept them.
ReadConfig with_kept_pieces(ReadConfig read, const std::filesystem::path& folder);

}  // namespace pipetrain
