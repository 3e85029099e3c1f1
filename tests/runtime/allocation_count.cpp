#include "allocation_count.hpp"

#include <atomic>
#include <cstdlib>
#include <new>

namespace pipetrain::testing {
namespace {

thread_local bool counting = false;
std::atomic<std::int64_t> allocations = 0;
std::atomic<std::size_t> bytes_max = 0;

}  // namespace

void note_allocation(std::size_t bytes) {
  if (!counting) return;
  ++allocations;
  std::size_t largest = bytes_max;
  while (bytes > largest && !bytes_max.compare_exchange_weak(largest, bytes)) {
  }
}

void count_allocations_here(bool on) { counting = on; }
bool counts_allocations_here() { return counting; }
AllocationCount allocations_counted() { return {allocations, bytes_max}; }
void reset_allocation_count() {
  allocations = 0;
  bytes_max = 0;
}

}  // namespace pipetrain::testing

// The library's other forms (arrays, nothrow) call these.
void* operator new(std::size_t bytes) {
  pipetrain::testing::note_allocation(bytes);
  void* const memory = std::malloc(bytes > 0 ? bytes : 1);
  if (!memory) throw std::bad_alloc();
  return memory;
}
void* operator new(std::size_t bytes, std::align_val_t alignment) {
  pipetrain::testing::note_allocation(bytes);
  const auto align = static_cast<std::size_t>(alignment);
  void* const memory = std::aligned_alloc(align, (bytes + align - 1) / align * align);
  if (!memory) throw std::bad_alloc();
  return memory;
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }
