// How much of the machine's memory this process has taken, as the C library and the kernel count
// it, to compare with what stages account for.
#pragma once

#include <cstddef>

namespace pipetrain {

struct ProcessMemory {
  std::size_t heap_bytes = 0;      // allocated and not freed, by any code in the process
  std::size_t resident_bytes = 0;  // private pages in memory: heap, stacks, code made at run time
};

ProcessMemory process_memory();  // zeros where the system does not report it

}  // namespace pipetrain
