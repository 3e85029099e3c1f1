// A data set around another one, with something wrong in it.
#pragma once

#include <functional>
#include <memory>

#include "data/dataset.hpp"

namespace pipetrain::testing {

// Calls `alter` after every read, with the sample's number and its input. It may throw.
std::unique_ptr<const Dataset> altered_data(
    std::unique_ptr<const Dataset> real,
    std::function<void(std::int64_t index, float* input)> alter);

}  // namespace pipetrain::testing
