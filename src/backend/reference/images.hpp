// Indices into images stored as [samples, channels, height, width].
#pragma once

#include <cstdint>

#include "base/check.hpp"
#include "graph/shape.hpp"

namespace pipetrain::reference {

struct Images {
  std::int64_t channels = 0, height = 0, width = 0;

  explicit Images(const Shape& shape) {
    PIPETRAIN_CHECK(shape.dims.size() == 3, "an image has 3 dimensions, not {}", shape.dims.size());
    channels = shape.dims[0], height = shape.dims[1], width = shape.dims[2];
  }
  std::int64_t at(std::int64_t n, std::int64_t c, std::int64_t y, std::int64_t x) const {
    return ((n * channels + c) * height + y) * width + x;
  }
  bool holds(std::int64_t y, std::int64_t x) const {
    return y >= 0 && y < height && x >= 0 && x < width;
  }
};

}  // namespace pipetrain::reference
