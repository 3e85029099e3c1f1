// The bytes that `count` elements take.
#pragma once

#include <cstddef>
#include <cstdint>

namespace pipetrain {

template <class Element>
constexpr std::size_t bytes_of(std::int64_t count) {
  return static_cast<std::size_t>(count) * sizeof(Element);
}

}  // namespace pipetrain
