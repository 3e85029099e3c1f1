// Which elements dropout keeps: a pure function of the random key, the layer's name and the
// element's index in plain row-major order over the micro-batch, so that every backend and every
// cut of the graph draws the same mask.
#pragma once

#include <cstdint>
#include <string_view>

#include "backend/backend.hpp"

namespace pipetrain {

class DropoutMask {
 public:
  DropoutMask(double p, std::string_view layer, const RandomKey& key);

  // factors[i] = what element first + i is multiplied by: 0 where it is dropped, else 1 / (1 - p).
  void factors(std::int64_t first, std::int64_t count, float* factors) const;

 private:
  std::uint64_t key_ = 0, stream_ = 0;
  std::uint64_t dropped_below_ = 0;  // an element is dropped where its 32-bit number is below
  float scale_ = 1;
};

}  // namespace pipetrain
