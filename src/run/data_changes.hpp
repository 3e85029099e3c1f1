// Are the data of a resumed training those with which its checkpoint was saved?
#pragma once

#include <string>
#include <vector>

#include "checkpoint/load.hpp"
#include "checkpoint/manifest.hpp"

namespace pipetrain {

// One line per difference: "data.train_images: 47040016 bytes then, 47040000 now".
std::vector<std::string> data_changes(const DataSums& then, const DataSums& now);

// UsageError, with the differences from what the checkpoint says; if they are accepted, only a
// warning. A checkpoint that says nothing about its data fits any.
void check_data(const Checkpoint& checkpoint, const DataSums& now, bool accepted);

}  // namespace pipetrain
