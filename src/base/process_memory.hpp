// What this process has taken of the machine's memory, as the C library and the kernel count it:
// what stages account for can be compared with it.
#pragma once

#include <cstddef>

namespace pipetrain {

struct ProcessMemory {
  std::size_t heap_bytes = 0;      // allocated and not freed, by anybody in the process
  std::size_t resident_bytes = 0;  // private pages in memory: heap, stacks, code made at run time
};

ProcessMemory process_memory();  // zeros where the system does not tell

}  // namespace pipetrain
