// The ring of pinned memory that the host's writes pass through, however late the device is.
#include "backend/cuda/staging.hpp"

#include <algorithm>
#include <cstring>
#include <random>

#include "backend/cuda/device_stream.hpp"
#include "catch.hpp"
#include "fake_cuda/runtime.hpp"

using namespace pipetrain;

namespace {

constexpr std::size_t kBlock = 1024, kRing = kBlock * cuda::Staging::kBlocks;

std::vector<std::byte> random_bytes(std::size_t count, std::mt19937& random) {
  std::vector<std::byte> bytes(count);
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(random());
  return bytes;
}

}  // namespace

TEST_CASE("writes smaller and larger than the ring arrive in any order of work", "[cuda]") {
  const fake_cuda::Order order = GENERATE(fake_cuda::Order::AtOnce, fake_cuda::Order::Lazy,
                                          fake_cuda::Order::OthersFirst, fake_cuda::Order::Random);
  INFO("order " << static_cast<int>(order));
  fake_cuda::set({.order = order});
  std::mt19937 random(7);
  {
    cuda::DeviceStream stream(0), other(1);
    cuda::Staging staging(kBlock);
    std::vector<std::vector<std::byte>> written;
    std::vector<void*> blocks;
    for (const std::size_t bytes :
         {1, 3, 255, 257, 1023, 1024, 1025, 4099, 8191, 8192, 8193, 30001})
      for (int times = 0; times < 3; ++times) {
        written.push_back(random_bytes(bytes, random));
        blocks.push_back(stream.allocate(bytes));
      }
    void* const elsewhere = other.allocate(4);
    std::size_t live = 0;
    for (std::size_t i = 0; i < blocks.size(); ++i) {
      std::vector<std::byte> host = written[i];
      staging.write(stream.handle(), blocks[i], host.data(), host.size());
      std::memset(host.data(), 0xee, host.size());  // the host may reuse it
      other.clear(elsewhere, 4);
      if (i == 0) live = fake_cuda::live_allocations();
      CHECK(fake_cuda::live_allocations() == live);
    }
    for (std::size_t i = 0; i < blocks.size(); ++i) {
      std::vector<std::byte> back(written[i].size());
      stream.read(back.data(), blocks[i], back.size());
      CHECK(back == written[i]);
      stream.release(blocks[i]);
    }
    other.finish();
    other.release(elsewhere);
  }
  CHECK(fake_cuda::live_allocations() == 0);
  CHECK(fake_cuda::take_findings() == std::vector<std::string>{});
}

TEST_CASE("the host waits when the ring is full, and only then", "[cuda]") {
  fake_cuda::set({.order = fake_cuda::Order::Lazy});
  cuda::DeviceStream stream(0);
  cuda::Staging staging(kBlock);
  const std::vector<std::byte> host(kRing);
  void* const memory = stream.allocate(kRing);
  staging.write(stream.handle(), memory, host.data(), 1);  // takes its memory
  const std::int64_t before = fake_cuda::host_waits();
  // In many small copies, so that no poll finds a block passed by chance.
  const auto write = [&](std::size_t bytes) {
    for (std::size_t done = 0; done < bytes; done += 256)
      staging.write(stream.handle(), memory, host.data(), std::min<std::size_t>(256, bytes - done));
    return fake_cuda::host_waits() - before;
  };
  CHECK(write(kRing / 2) == 0);
  CHECK(write(kRing / 2 - 256) == 0);  // to the ring's end: the byte took a line of 256
  CHECK(write(1) == 1);                // for the first block
  CHECK(write(kBlock - 256) == 1);     // which has room
  CHECK(write(kBlock) == 2);
  stream.finish();  // which is a wait too; then all blocks are free
  CHECK(write(kRing - kBlock) == 3);
  stream.finish();
  stream.release(memory);
}
