// Whether the data of a training that continues are those that it was saved with.
#pragma once

#include <string>
#include <vector>

#include "checkpoint/load.hpp"
#include "checkpoint/manifest.hpp"

namespace pipetrain {

// One line for each difference: "data.train_images: 47040016 bytes then, 47040000 now".
std::vector<std::string> data_changes(const DataSums& then, const DataSums& now);

// UsageError that lists the differences from what the checkpoint keeps; where they are accepted, a
// warning does. A checkpoint that keeps nothing of its data fits all.
void check_data(const Checkpoint& checkpoint, const DataSums& now, bool accepted);

}  // namespace pipetrain
