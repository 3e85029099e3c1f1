// Counts what operator new gives, on threads that ask for it. This program's operator new and
// delete are replaced (allocation_count.cpp); libraries that it loads call them too.
#pragma once

#include <cstddef>
#include <cstdint>

namespace pipetrain::testing {

// From now on (or no longer) allocations of this thread count. A thread that ends stops by itself.
void count_allocations_here(bool on);
bool counts_allocations_here();

struct AllocationCount {
  std::int64_t allocations = 0;
  std::size_t bytes_max = 0;  // of a single allocation
};
AllocationCount allocations_counted();  // of all threads, since the last reset
void reset_allocation_count();

}  // namespace pipetrain::testing
