// A short fingerprint of a training's data, kept in its checkpoints (run/data_changes.hpp).
#pragma once

#include "checkpoint/manifest.hpp"
#include "config/config.hpp"
#include "data/dataset.hpp"

namespace pipetrain {

// Covers all files that each key of [data] names, in order: names below a folder, sizes, and
// contents (up to 64 MiB completely; otherwise 64 stretches of 1 MiB at equal distances, including
// the first and the last MiB). CannotRead.
DataSums data_sums(const DataConfig& config, const Datasets& datasets);

}  // namespace pipetrain
