// The colours of runs and versions, as classes of the page's style: c0 to c7, then the same ones
// dashed (d1, d2).
#pragma once

#include <cstddef>
#include <string>

namespace pipetrain {

inline constexpr std::size_t kColours = 8;

inline std::string colour_class(std::size_t index) {
  std::string name = "c" + std::to_string(index % kColours);
  if (const std::size_t round = index / kColours; round > 0)
    name += " d" + std::to_string((round - 1) % 2 + 1);
  return name;
}

}  // namespace pipetrain
