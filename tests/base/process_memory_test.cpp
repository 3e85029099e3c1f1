// What the process has taken follows what is allocated and touched.
#include "base/process_memory.hpp"

#include <cstring>
#include <memory>

#include "catch.hpp"

using namespace pipetrain;

TEST_CASE("an allocation is seen, and so is its release", "[process memory]") {
  constexpr std::size_t bytes = 64 << 20;
  const ProcessMemory before = process_memory();
  if (before.heap_bytes == 0) {
    WARN("skipped: the C library does not count its allocations here");
    return;
  }
  auto block = std::make_unique_for_overwrite<char[]>(bytes);
  std::memset(block.get(), 1, bytes);
  CHECK(block[bytes / 2] == 1);
  const ProcessMemory with = process_memory();
  CHECK(with.heap_bytes - before.heap_bytes >= bytes);
  CHECK(with.heap_bytes - before.heap_bytes < bytes + (1 << 20));
  CHECK(with.resident_bytes - before.resident_bytes > bytes / 10 * 9);
  block.reset();
  CHECK(process_memory().heap_bytes < before.heap_bytes + (1 << 20));
}
