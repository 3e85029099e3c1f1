// Cuts the memory that a kernel is given into arrays.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/bytes_of.hpp"

namespace pipetrain::cuda {

// Gives out one array after another, each aligned for matrix products; starting from null, it only
// counts.
class Parts {
 public:
  explicit Parts(void* memory) : memory_(static_cast<std::byte*>(memory)) {}
  template <class Element>
  Element* take(std::int64_t count) {
    constexpr std::size_t alignment = 64;
    std::byte* const taken = memory_ ? memory_ + bytes_ : nullptr;
    const std::size_t bytes = bytes_of<Element>(count);
    bytes_ += (bytes + alignment - 1) / alignment * alignment;
    return reinterpret_cast<Element*>(taken);
  }
  std::size_t bytes() const { return bytes_; }

 private:
  std::byte* memory_;
  std::size_t bytes_ = 0;
};

}  // namespace pipetrain::cuda
