// What a training's data are, in few numbers: kept in its checkpoints (run/data_changes.hpp).
#pragma once

#include "checkpoint/manifest.hpp"
#include "config/config.hpp"
#include "data/dataset.hpp"

namespace pipetrain {

// Of all that one key of [data] names, in order: names below a folder, sizes, and the contents: all
// of up to 64 MiB, else 64 stretches of 1 MiB, the first and the last MiB among them, at equal
// distances. CannotRead.
DataSums data_sums(const DataConfig& config, const Datasets& datasets);

}  // namespace pipetrain
