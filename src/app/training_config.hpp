// The config of a training, from its command line and from what an earlier start has kept.
#pragma once

#include <filesystem>

#include "config/read.hpp"
#include "run/options.hpp"

namespace pipetrain {

// UsageError.
ReadConfig read_training_config(const Options& options);

// Pieces are trained only at the first start: a resumed run takes those that it has kept.
ReadConfig with_kept_pieces(ReadConfig read, const std::filesystem::path& folder);

}  // namespace pipetrain
