// Memory and waiting between two processes: the other one is a child that is forked off.
#include "transport/shared_block.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <thread>

#include "catch.hpp"
#include "transport/shared_packets.hpp"

using namespace pipetrain;

namespace {

constexpr SharedPacketSizes sizes{.count = 3, .head = 8, .data = 100};

// A process that does `work`, and ends with its result.
struct OtherProcess {
  template <class Work>
  explicit OtherProcess(const Work& work) : id(::fork()) {
    if (id == 0) try {
        ::_exit(work());
      } catch (...) {  // must not continue with the tests
        ::_exit(78);
      }
  }
  ~OtherProcess() {
    if (id > 0) ::kill(id, SIGKILL), wait();
  }
  int wait() {
    int status = 0;
    while (::waitpid(id, &status, 0) < 0 && errno == EINTR) continue;
    id = -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }
  pid_t id;
};

// Ends the process where it cannot.
SharedPackets opened(const SharedAddress& address) {
  auto block = SharedBlock::open(address, SharedPackets::bytes(sizes));
  if (!block) ::_exit(77);
  return SharedPackets(std::move(*block), sizes, false);
}

bool can_open(const SharedAddress& address) {
  return OtherProcess([&] {
           opened(address);
           return 0;
         }).wait() == 0;
}

}  // namespace

TEST_CASE("another process sees the memory and hears the bell") {
  auto block = SharedBlock::make(SharedPackets::bytes(sizes));
  REQUIRE(block);
  const SharedAddress address = block->address();
  SharedPackets packets(std::move(*block), sizes, true);
  REQUIRE(can_open(address));
  constexpr int count = 2000;
  OtherProcess sender([&] {
    SharedPackets mine = opened(address);
    for (int i = 0; i < count; ++i) {
      std::optional<std::uint32_t> packet;
      mine.sender_bell().wait_until([&] { return (packet = mine.take()).has_value(); });
      std::memset(mine.data(*packet), i % 256, sizes.data);
      mine.send(*packet);
    }
    return 5;
  });
  int wrong = 0;
  for (int i = 0; i < count; ++i) {
    packets.receiver_bell().wait_until([&] { return packets.any_sent(); });
    const std::uint32_t packet = *packets.receive();
    wrong += packets.data(packet)[0] != static_cast<std::byte>(i % 256) ||
             packets.data(packet)[sizes.data - 1] != static_cast<std::byte>(i % 256);
    packets.give_back(packet);
  }
  CHECK(wrong == 0);
  CHECK(sender.wait() == 5);
}

TEST_CASE("a wait for a process that was killed ends once somebody rings") {
  auto block = SharedBlock::make(SharedPackets::bytes(sizes));
  REQUIRE(block);
  const SharedAddress address = block->address();
  SharedPackets packets(std::move(*block), sizes, true);
  REQUIRE(can_open(address));
  OtherProcess other([&] {
    SharedPackets mine = opened(address);
    mine.send(*mine.take());
    mine.sender_bell().wait_until([] { return false; });
    return 0;
  });
  packets.receiver_bell().wait_until([&] { return packets.any_sent(); });
  packets.give_back(*packets.receive());
  ::kill(other.id, SIGKILL);
  CHECK(other.wait() == -1);
  std::atomic<bool> over = false;
  std::thread waiting(
      [&] { packets.receiver_bell().wait_until([&] { return packets.any_sent() || over; }); });
  over = true;
  packets.receiver_bell().ring();
  waiting.join();
  CHECK_FALSE(packets.any_sent());
}

TEST_CASE("memory of another host, container, process or size is not opened") {
  auto block = SharedBlock::make(100);
  REQUIRE(block);
  const SharedAddress mine = block->address();
  CHECK(SharedBlock::open(mine, 100));
  const auto refused = [&](const auto& change, std::size_t bytes = 100) {
    SharedAddress other = mine;
    change(other);
    return !SharedBlock::open(other, bytes);
  };
  CHECK(refused([](SharedAddress& a) { a.host[0] ^= 1; }));
  CHECK(refused([](SharedAddress& a) { ++a.processes; }));
  CHECK(refused([](SharedAddress& a) { ++a.network; }));
  CHECK(refused([](SharedAddress& a) { a.process = 0; }));
  CHECK(refused([](SharedAddress& a) { a.file = -1; }));
  CHECK(refused([](SharedAddress& a) { a.file = STDERR_FILENO; }));
  CHECK(refused([](SharedAddress& a) { ++a.number[1]; }));
  CHECK(refused([](SharedAddress&) {}, 101));
  block->hide();
  CHECK(refused([](SharedAddress&) {}));
}

TEST_CASE("a shared packet is given back once") {
  auto block = SharedBlock::make(SharedPackets::bytes(sizes));
  REQUIRE(block);
  SharedPackets packets(std::move(*block), sizes, true);
  const std::uint32_t packet = *packets.take();
  packets.give_back(packet);
  CHECK_THROWS(packets.give_back(packet));
}
