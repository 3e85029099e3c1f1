// The config of a training, from its command line and from what an earlier start has kept.
#pragma once

#include <filesystem>

#include "config/read.hpp"
#include "run/options.hpp"

namespace pipetrain {

// UsageError.
ReadConfig read_training_config(const Options& options);

// Pieces and the vocabulary of a text are made only at the first start: a run that resumes from
// this checkpoint takes those that are kept beside it.
ReadConfig with_kept_tokens(ReadConfig read, const std::filesystem::path& checkpoint);

}  // namespace pipetrain
