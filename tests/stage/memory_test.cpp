// A stage's memory: every byte accounted, every block given back.
#include "stage/memory.hpp"

#include <algorithm>

#include "backends.hpp"
#include "catch.hpp"
#include "runtime/counting.hpp"

using namespace pipetrain;
using namespace pipetrain::testing;

TEST_CASE("bytes are accounted by what they are for", "[memory]") {
  const auto backend = make_backend("reference");
  const auto stream = backend->make_stream({});
  StageMemory memory(*stream);
  memory.take(Use::Weights, 100);
  memory.take(Use::Weights, 28);
  memory.take(Use::Packets, 64);
  MemoryAccount account = memory.account();
  CHECK(account[Use::Weights] == 128);
  CHECK(account[Use::Packets] == 64);
  CHECK(account[Use::Gradients] == 0);
  CHECK(account.total() == 192);
}

TEST_CASE("memory is zeroed and aligned", "[memory][backends]") {
  const std::string name = GENERATE(from_range(backend_names()));
  const auto backend = make_backend(name);
  const auto stream = backend->make_stream({});
  StageMemory memory(*stream);
  for (const std::size_t bytes : {1, 100, 4096, 100000}) {
    const std::byte* const block = memory.take(Use::Workspace, bytes);
    REQUIRE(block != nullptr);
    CHECK(reinterpret_cast<std::uintptr_t>(block) % 64 == 0);
    CHECK(std::all_of(block, block + bytes, [](std::byte b) { return b == std::byte{0}; }));
  }
}

TEST_CASE("the memory taken first is one block if it is large", "[memory]") {
  const std::size_t large = std::size_t{4} << 20;
  BackendCounts counts;
  const auto backend = counting_backend(make_backend("cpu"), counts);
  const auto stream = backend->make_stream({});
  StageMemory memory(*stream, large);
  std::byte* const first = memory.take(Use::Weights, large - 100);
  std::byte* const second = memory.take(Use::Gradients, 40);
  CHECK(second == first + large - 64);
  CHECK(memory.take(Use::Gradients, 60) == second + 64);  // its lines are more than its bytes
  CHECK(counts.allocations == 1);
  memory.take(Use::Gradients, large);  // no more room
  CHECK(counts.allocations == 2);
  CHECK(memory.account().total() == 2 * large);
}

TEST_CASE("one block is given back as one, whatever is exchanged", "[memory]") {
  const std::size_t large = std::size_t{4} << 20;
  BackendCounts counts;
  const auto backend = counting_backend(make_backend("cpu"), counts);
  const auto stream = backend->make_stream({});
  {
    StageMemory memory(*stream, large);
    std::byte* first = memory.take(Use::Workspace, large - 64);
    std::byte* second = memory.take(Use::Activations, 64);
    CHECK(counts.allocations == 1);
    first = memory.exchange(Use::Workspace, first, large - 64, 2 * large);
    second = memory.exchange(Use::Activations, second, 64, 2 * large);
    CHECK(counts.allocations == 3);
    CHECK(counts.releases == 0);
    first[0] = second[2 * large - 1] = std::byte{1};
    CHECK(memory.account().total() == 4 * large);
  }
  CHECK(counts.releases == 3);
}

TEST_CASE("nothing is taken for 0 bytes", "[memory]") {
  BackendCounts counts;
  const auto backend = counting_backend(make_backend("reference"), counts);
  const auto stream = backend->make_stream({});
  StageMemory memory(*stream);
  CHECK(memory.take(Use::Gradients, 0) == nullptr);
  CHECK(memory.account().total() == 0);
  CHECK(counts.allocations == 0);
}

TEST_CASE("an exchange counts the new block only, and gives the old one back", "[memory]") {
  BackendCounts counts;
  const auto backend = counting_backend(make_backend("reference"), counts);
  const auto stream = backend->make_stream({});
  StageMemory memory(*stream);
  std::byte* block = memory.exchange(Use::Activations, nullptr, 0, 64);
  CHECK(memory.account().total() == 64);
  CHECK(counts.releases == 0);
  block = memory.exchange(Use::Activations, block, 64, 256);
  REQUIRE(block != nullptr);
  block[255] = std::byte{1};
  MemoryAccount account = memory.account();
  CHECK(account[Use::Activations] == 256);
  CHECK(counts.allocations == 2);
  CHECK(counts.releases == 1);
}

TEST_CASE("every block goes back to the backend", "[memory]") {
  BackendCounts counts;
  const auto backend = counting_backend(make_backend("reference"), counts);
  const auto stream = backend->make_stream({});
  {
    StageMemory memory(*stream);
    memory.take(Use::Weights, 8);
    memory.exchange(Use::Workspace, memory.take(Use::Workspace, 8), 8, 16);
    memory.take(Use::Packets, 8);
  }
  CHECK(counts.allocations == 4);
  CHECK(counts.releases == 4);
}
