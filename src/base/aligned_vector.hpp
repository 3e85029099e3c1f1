// A vector that begins at a cache line, as kernels expect of their operands.
#pragma once

#include <cstddef>
#include <new>
#include <vector>

namespace pipetrain {

template <class T>
struct LineAllocator {
  using value_type = T;
  static constexpr std::align_val_t line{64};  // bytes

  LineAllocator() = default;
  template <class Other>
  LineAllocator(const LineAllocator<Other>&) {}

  T* allocate(std::size_t count) {
    return static_cast<T*>(::operator new(count * sizeof(T), line));
  }
  void deallocate(T* memory, std::size_t) { ::operator delete(memory, line); }
  bool operator==(const LineAllocator&) const = default;
};

template <class T>
using AlignedVector = std::vector<T, LineAllocator<T>>;

}  // namespace pipetrain
