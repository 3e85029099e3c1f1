// Blocks of memory begin at a cache line: 64 bytes on every processor that this is built for.
#pragma once

#include <cstddef>

namespace pipetrain {

inline constexpr std::size_t kCacheLine = 64;  // bytes

// Rounds up to whole cache lines.
constexpr std::size_t whole_lines(std::size_t bytes) {
  return (bytes + kCacheLine - 1) / kCacheLine * kCacheLine;
}

}  // namespace pipetrain
