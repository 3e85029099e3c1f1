#include "transport/remote_channel.hpp"

#include <atomic>
#include <cstring>
#include <thread>
#include <utility>

#include "catch.hpp"
#include "fake_wire.hpp"
#include "transport/job.hpp"

using namespace pipetrain;
using testing::FakeNetwork;

namespace {

constexpr std::size_t remote_packet_bytes = 256;
constexpr int most_samples_sent = 4;

// A channel between two ranks, with this many packets at each end.
struct TwoEnds {
  explicit TwoEnds(std::size_t packets, const LinkRate* link = nullptr,
                   const LinkClock* clock = nullptr)
      : sent_memory(packets * remote_packet_bytes), received_memory(packets * remote_packet_bytes) {
    const auto options = [&](std::vector<std::byte>& memory, Job& job, int peer) {
      RemoteEndOptions o;
      for (std::size_t i = 0; i < packets; ++i)
        o.packets.packets.push_back(memory.data() + i * remote_packet_bytes);
      o.packets.samples = most_samples_sent;
      o.packet_bytes = remote_packet_bytes;
      o.wire_thread = &job.wire_thread();
      o.peer = peer;
      o.tag = 16;
      o.link = link;
      o.link_clock = clock;
      return o;
    };
    sender = make_sending_end(options(sent_memory, sending_rank, 1));
    receiver = make_receiving_end(options(received_memory, receiving_rank, 0));
  }

  void send(int microbatch, int count) {
    Packet* const packet = sender->acquire();
    packet->microbatch = {microbatch};
    packet->samples = count;
    packet->bytes = 8 * static_cast<std::size_t>(count);
    packet->lengths = {3, 5};
    for (int i = 0; i < count; ++i) packet->ids.push_back(100 * microbatch + i);
    std::memset(packet->data, microbatch, remote_packet_bytes);
    sender->send(packet);
  }

  std::vector<std::byte> sent_memory, received_memory;
  FakeNetwork network{2};
  Job sending_rank{network.wire(0)}, receiving_rank{network.wire(1)};
  std::unique_ptr<Channel> sender, receiver;
};

}  // namespace

TEST_CASE(
    "packets arrive at the other rank in order, with their heads and the bytes those announce") {
  TwoEnds ends(2);
  std::thread sending([&] {
    for (int m = 1; m <= 20; ++m) ends.send(m, m % (most_samples_sent + 1));
  });
  for (int m = 1; m <= 20; ++m) {
    Packet* const packet = ends.receiver->receive();
    const int count = m % (most_samples_sent + 1);
    CHECK(packet->microbatch.value == m);
    CHECK(packet->samples == count);
    CHECK(std::cmp_equal(packet->bytes, 8 * count));
    CHECK(packet->lengths == Lengths{3, 5});
    REQUIRE(std::ssize(packet->ids) == count);
    if (count > 0) CHECK(packet->ids.back() == 100 * m + count - 1);
    for (int i = 0; i < 8 * count; ++i) REQUIRE(packet->data[i] == static_cast<std::byte>(m));
    ends.receiver->release(packet);
  }
  sending.join();
}

TEST_CASE("a sender is ahead by no more packets than both ends have") {
  TwoEnds ends(2);
  for (int m = 1; m <= 4; ++m) ends.send(m, 1);
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  CHECK_FALSE(ends.sender->can_acquire());
  ends.receiver->release(ends.receiver->receive());
  while (!ends.sender->can_acquire()) std::this_thread::yield();
  CHECK(ends.receiver->can_receive());
}

TEST_CASE("a packet that its sender still reads is not free even once it has been sent") {
  TwoEnds ends(1);
  Packet* const packet = ends.sender->acquire();
  packet->samples = 1;
  ends.sender->retain(packet);
  ends.sender->send(packet);
  ends.receiver->release(ends.receiver->receive());
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  CHECK_FALSE(ends.sender->can_acquire());
  ends.sender->forget(packet);
  CHECK(ends.sender->can_acquire());
}

TEST_CASE("a close wakes the threads that wait at either end") {
  TwoEnds ends(1);
  std::thread closing([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    ends.receiver->close();
    ends.sender->close();
  });
  CHECK_THROWS_AS(ends.receiver->receive(), ChannelClosed);
  closing.join();
  CHECK_THROWS_AS(ends.sender->acquire(), ChannelClosed);
}

TEST_CASE("messages leave when a link of that rate would have delivered them") {
  std::atomic<std::int64_t> now = 1000;
  const LinkClock clock([&] { return now.load(); });
  const LinkRate rate{.bytes_per_second = 8e9, .latency_seconds = 5e-9};
  TwoEnds ends(2, &rate, &clock);
  ends.send(1, 1);  // 8 bytes: on the link for 1 ns, due at 1006
  ends.send(2, 1);  // after it: due at 1007
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  CHECK_FALSE(ends.receiver->can_receive());
  now = 1006;
  CHECK(ends.receiver->receive()->microbatch.value == 1);
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  CHECK_FALSE(ends.receiver->can_receive());
  now = 1007;
  CHECK(ends.receiver->receive()->microbatch.value == 2);
}

TEST_CASE("a message that is not what its head says ends the job at both ends") {
  TwoEnds ends(1);
  Packet* const packet = ends.sender->acquire();
  packet->samples = most_samples_sent + 1;
  packet->bytes = 16;
  ends.sender->send(packet);
  while (!ends.receiving_rank.failure()) std::this_thread::yield();
  CHECK(ends.receiving_rank.failure()->message.find("5 samples, 16 bytes") != std::string::npos);
  while (!ends.sending_rank.failure()) std::this_thread::yield();
  ends.sending_rank.fail(ChannelClosed());
  ends.receiving_rank.fail(ChannelClosed());
}
