// The shape of a value, for one sample.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace pipetrain {

// Dimensions of one sample: [C, H, W] of an image, [features] of a vector, [T, C] of a sequence
// of T vectors. Elements are floats or, with a vocabulary, tokens without a gradient: int32 from 0
// to vocabulary - 1.
struct Shape {
  std::vector<std::int64_t> dims;
  std::int64_t vocabulary = 0;
  std::int64_t elements() const;
  std::string text() const;  // "[6, 28, 28]", "[64] tokens of 256"
  bool operator==(const Shape&) const = default;
};

}  // namespace pipetrain
