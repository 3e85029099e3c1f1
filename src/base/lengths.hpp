// How long the two sides of a sample are: what its source and its target are padded to.
#pragma once

#include <compare>
#include <cstdint>

namespace pipetrain {

// In tokens. 0, 0: the lengths in the model's file, as for all samples of a model with one side.
struct Lengths {
  std::int64_t source = 0, target = 0;
  auto operator<=>(const Lengths&) const = default;
};

}  // namespace pipetrain
