// A sequence of vectors as rows: [samples, T, C] is samples * T rows of C; a vector is one row.
#pragma once

#include <cstdint>

#include "graph/shape.hpp"

namespace pipetrain::reference {

struct Rows {
  std::int64_t rows = 0, width = 0;

  Rows(const Shape& shape, std::int64_t samples)
      : rows(samples * shape.elements() / shape.dims.back()), width(shape.dims.back()) {}
};

}  // namespace pipetrain::reference
