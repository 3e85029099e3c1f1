#include "base/process_memory.hpp"

#include <malloc.h>

#include <fstream>
#include <string>

namespace pipetrain {

ProcessMemory process_memory() {
  ProcessMemory memory;
  const auto heap = mallinfo2();
  memory.heap_bytes = heap.uordblks + heap.hblkhd;
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;)
    if (word == "RssAnon:") {
      status >> memory.resident_bytes;
      memory.resident_bytes *= 1024;
    }
  return memory;
}

}  // namespace pipetrain
