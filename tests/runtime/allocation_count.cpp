#include "allocation_count.hpp"

#include <atomic>
#include <cstddef>
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

namespace {

void* give(std::size_t bytes, std::size_t alignment) noexcept {
  pipetrain::testing::note_allocation(bytes);
  if (alignment <= alignof(std::max_align_t)) return std::malloc(bytes > 0 ? bytes : 1);
  return std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
}
void* give_or_throw(std::size_t bytes, std::size_t alignment = 1) {
  if (void* const memory = give(bytes, alignment)) return memory;
  throw std::bad_alloc();
}
std::size_t size(std::align_val_t alignment) { return static_cast<std::size_t>(alignment); }

}  // namespace

// Not inlined: beside other files of a unit, the compiler takes a new and a delete that it sees
// through for a mismatch. Every form: under a sanitizer those that are left out would be the
// sanitizer's own.
[[gnu::noinline]] void* operator new(std::size_t n) { return give_or_throw(n); }
[[gnu::noinline]] void* operator new[](std::size_t n) { return give_or_throw(n); }
[[gnu::noinline]] void* operator new(std::size_t n, std::align_val_t a) {
  return give_or_throw(n, size(a));
}
[[gnu::noinline]] void* operator new[](std::size_t n, std::align_val_t a) {
  return give_or_throw(n, size(a));
}
[[gnu::noinline]] void* operator new(std::size_t n, const std::nothrow_t&) noexcept {
  return give(n, 1);
}
[[gnu::noinline]] void* operator new[](std::size_t n, const std::nothrow_t&) noexcept {
  return give(n, 1);
}
[[gnu::noinline]] void* operator new(std::size_t n, std::align_val_t a,
                                     const std::nothrow_t&) noexcept {
  return give(n, size(a));
}
[[gnu::noinline]] void* operator new[](std::size_t n, std::align_val_t a,
                                       const std::nothrow_t&) noexcept {
  return give(n, size(a));
}
[[gnu::noinline]] void operator delete(void* p) noexcept { std::free(p); }
[[gnu::noinline]] void operator delete[](void* p) noexcept { std::free(p); }
[[gnu::noinline]] void operator delete(void* p, std::size_t) noexcept { std::free(p); }
[[gnu::noinline]] void operator delete[](void* p, std::size_t) noexcept { std::free(p); }
[[gnu::noinline]] void operator delete(void* p, std::align_val_t) noexcept { std::free(p); }
[[gnu::noinline]] void operator delete[](void* p, std::align_val_t) noexcept { std::free(p); }
[[gnu::noinline]] void operator delete(void* p, std::size_t, std::align_val_t) noexcept {
  std::free(p);
}
[[gnu::noinline]] void operator delete[](void* p, std::size_t, std::align_val_t) noexcept {
  std::free(p);
}
[[gnu::noinline]] void operator delete(void* p, const std::nothrow_t&) noexcept { std::free(p); }
[[gnu::noinline]] void operator delete[](void* p, const std::nothrow_t&) noexcept { std::free(p); }
[[gnu::noinline]] void operator delete(void* p, std::align_val_t, const std::nothrow_t&) noexcept {
  std::free(p);
}
[[gnu::noinline]] void operator delete[](void* p, std::align_val_t,
                                         const std::nothrow_t&) noexcept {
  std::free(p);
}
