// Which elements dropout keeps: a pure function of the random key, the layer's name and the
// element's index in plain row-major order over the micro-batch, so that the mask is the same on
// every backend and for every cut of the graph.
#pragma once

#include <cstdint>
#include <string_view>

#include "backend/backend.hpp"

namespace pipetrain {

class DropoutMask {
 public:
  // What draws the mask: element i is dropped if number i % 4 of philox(key, i / 4, stream) is
  // below dropped_below, and multiplied by scale otherwise.
  struct Parts {
    std::uint64_t key = 0, stream = 0, dropped_below = 0;
    float scale = 1;
  };

  DropoutMask(double p, std::string_view layer, const RandomKey& key);

  // factors[i] = what element first + i is multiplied by: 0 if it is dropped, else 1 / (1 - p).
  void factors(std::int64_t first, std::int64_t count, float* factors) const;

  // For a device that draws the mask itself.
  const Parts& parts() const { return parts_; }

 private:
  Parts parts_;
};

}  // namespace pipetrain
