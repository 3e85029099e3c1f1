// Which input elements belong to the window of each output element of a pooling layer.
#pragma once

#include "backend/reference/images.hpp"

namespace pipetrain::reference {

// visit(output index, input index), window by window in row-major order; padding is skipped.
template <class Pool, class Visit>
void for_each_tap(const Pool& spec, std::int64_t samples, const Images& in, const Images& out,
                  Visit visit) {
  const auto window = [&](std::int64_t n, std::int64_t c, std::int64_t y, std::int64_t x) {
    for (std::int64_t ky = 0; ky < spec.kernel[0]; ++ky)
      for (std::int64_t kx = 0; kx < spec.kernel[1]; ++kx) {
        const std::int64_t from_y = y * spec.stride[0] - spec.padding[0] + ky;
        const std::int64_t from_x = x * spec.stride[1] - spec.padding[1] + kx;
        if (in.holds(from_y, from_x)) visit(out.at(n, c, y, x), in.at(n, c, from_y, from_x));
      }
  };
  for (std::int64_t n = 0; n < samples; ++n)
    for (std::int64_t c = 0; c < out.channels; ++c)
      for (std::int64_t y = 0; y < out.height; ++y)
        for (std::int64_t x = 0; x < out.width; ++x) window(n, c, y, x);
}

}  // namespace pipetrain::reference
