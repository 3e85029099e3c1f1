// Channels between ranks, in each of the ways that packets take.
#include "transport/remote_channel.hpp"

#include <atomic>
#include <chrono>
#include <cstring>
#include <functional>
#include <thread>
#include <utility>

#include "catch.hpp"
#include "fake_wire.hpp"
#include "transport/job.hpp"
#include "transport/rank_channel.hpp"

using namespace pipetrain;
using testing::FakeNetwork;

namespace {

constexpr std::size_t remote_packet_bytes = 256;
constexpr int most_samples_sent = 4;

using MakeEnd = std::function<std::unique_ptr<Channel>(const RemoteEndOptions&)>;
struct Way {
  const char* name = nullptr;
  MakeEnd make_sending, make_receiving;
  int room = 2;  // packets that are under way at most, for each that an end has
};

Way rank_way(const char* name, bool sender_may, bool receiver_may) {
  return {
      name,
      [=](const RemoteEndOptions& options) { return make_rank_sending_end(options, sender_may); },
      [=](const RemoteEndOptions& options) {
        return make_rank_receiving_end(options, receiver_may);
      },
      sender_may && receiver_may ? 1 : 2};
}

const Way over_wire{"over the wire", make_sending_end, make_receiving_end};
const Way ways[] = {over_wire, rank_way("between ranks of one host", true, true),
                    rank_way("to a rank that shares no memory", true, false),
                    rank_way("from a rank that shares no memory", false, true)};

const Way& each_way() {
  const Way& way = ways[GENERATE(range(std::size_t{0}, std::size(ways)))];
  UNSCOPED_INFO(way.name);
  return way;
}

// A channel between two ranks, with this many packets at each end.
struct TwoEnds {
  TwoEnds(const Way& way, std::size_t packets, const LinkRate* link = nullptr,
          const LinkClock* clock = nullptr)
      : made(way),
        link_rate(link),
        link_clock(clock),
        sent_memory(packets * remote_packet_bytes),
        received_memory(packets * remote_packet_bytes) {
    sender = make_sender(16);
    receiver = make_receiver(16);
  }

  std::unique_ptr<Channel> make_sender(int tag) {
    return made.make_sending(options(sent_memory, sending_rank, 1, tag));
  }
  std::unique_ptr<Channel> make_receiver(int tag) {
    return made.make_receiving(options(received_memory, receiving_rank, 0, tag));
  }
  RemoteEndOptions options(std::vector<std::byte>& memory, Job& job, int peer, int tag) const {
    RemoteEndOptions o;
    for (std::size_t at = 0; at < memory.size(); at += remote_packet_bytes)
      o.packets.packets.push_back(memory.data() + at);
    o.packets.samples = most_samples_sent;
    o.packet_bytes = remote_packet_bytes;
    o.wire_thread = &job.wire_thread();
    o.peer = peer;
    o.tag = tag;
    o.link = link_rate;
    o.link_clock = link_clock;
    return o;
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

  const Way made;
  const LinkRate* const link_rate;
  const LinkClock* const link_clock;
  std::vector<std::byte> sent_memory, received_memory;
  FakeNetwork network{2};
  Job sending_rank{network.wire(0)}, receiving_rank{network.wire(1)};
  std::unique_ptr<Channel> sender, receiver;
};

}  // namespace

TEST_CASE(
    "packets arrive at the other rank in order, with their heads and the bytes those announce") {
  TwoEnds ends(each_way(), 2);
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

TEST_CASE("a sender is ahead by no more packets than there is room for") {
  const Way& way = each_way();
  TwoEnds ends(way, 2);
  for (int m = 1; m <= 2 * way.room; ++m) ends.send(m, 1);
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  CHECK_FALSE(ends.sender->can_acquire());
  ends.receiver->release(ends.receiver->receive());
  while (!ends.sender->can_acquire()) std::this_thread::yield();
  CHECK(ends.receiver->can_receive());
}

TEST_CASE("a packet that its sender still reads is not free even once it has been sent") {
  TwoEnds ends(each_way(), 1);
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
  TwoEnds ends(each_way(), 1);
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
  TwoEnds ends(each_way(), 2, &rate, &clock);
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
  TwoEnds ends(over_wire, 1);
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

TEST_CASE("between ranks of one host, a head that does not fit is the receiver's error") {
  TwoEnds ends(rank_way("", true, true), 1);
  Packet* const packet = ends.sender->acquire();
  packet->samples = most_samples_sent + 1;
  packet->bytes = 16;
  ends.sender->send(packet);
  CHECK_THROWS_WITH(ends.receiver->receive(), Contains("5 samples, 16 bytes"));
}

TEST_CASE("between ranks of one host the wire carries no packet") {
  TwoEnds ends(rank_way("", true, true), 1);
  ends.send(1, 1);
  ends.receiver->release(ends.receiver->receive());
  ends.network.cut_off(0);
  ends.network.cut_off(1);
  for (int m = 2; m <= 5; ++m) {
    ends.send(m, 1);
    for (int i = 0; i < 1000 && !ends.receiver->can_receive(); ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    REQUIRE(ends.receiver->can_receive());
    Packet* const packet = ends.receiver->receive();
    CHECK(packet->microbatch.value == m);
    ends.receiver->release(packet);
  }
}

TEST_CASE("many packets between ranks arrive whole and in order") {
  TwoEnds ends(each_way(), 3);
  constexpr int count = 3000;
  std::thread sending([&] {
    for (int m = 0; m < count; ++m) {
      Packet* const packet = ends.sender->acquire();
      packet->microbatch = {m};
      packet->samples = 1;
      packet->bytes = remote_packet_bytes;
      std::memset(packet->data, m % 251, remote_packet_bytes);
      ends.sender->retain(packet);
      ends.sender->send(packet);
      ends.sender->forget(packet);
    }
  });
  int wrong = 0;
  for (int m = 0; m < count; ++m) {
    Packet* const packet = ends.receiver->receive();
    wrong += packet->microbatch.value != m || packet->data[0] != static_cast<std::byte>(m % 251) ||
             packet->data[remote_packet_bytes - 1] != static_cast<std::byte>(m % 251);
    ends.receiver->release(packet);
  }
  sending.join();
  CHECK(wrong == 0);
}

TEST_CASE("ends that are never used go once both ranks know") {
  TwoEnds ends(each_way(), 2);
  std::thread receiving([&] { ends.receiver.reset(); });
  ends.sender.reset();
  receiving.join();
  CHECK_FALSE(ends.sending_rank.wire_thread().is_unheard());
  CHECK_FALSE(ends.receiving_rank.wire_thread().is_unheard());
}

TEST_CASE("ends whose other rank has none go after a while, all together") {
  TwoEnds ends(rank_way("", true, true), 1);
  ends.sender.reset();
  ends.receiver.reset();
  const std::unique_ptr<Channel> others[] = {ends.make_receiver(40), ends.make_receiver(44),
                                             ends.make_receiver(48)};
  WireThread& wire_thread = ends.receiving_rank.wire_thread();
  CHECK_FALSE(wire_thread.is_unheard());
  ends.receiver = ends.make_receiver(52);
  ends.receiver.reset();  // waits, in vain
  CHECK(wire_thread.is_unheard());
}

TEST_CASE("an end that is closed before the other rank has made its own stays closed") {
  TwoEnds ends(rank_way("", true, true), 1);
  const std::unique_ptr<Channel> sender = ends.make_sender(40);
  CHECK_FALSE(sender->can_acquire());
  sender->close();
  CHECK(sender->can_acquire());
  CHECK_THROWS_AS(sender->acquire(), ChannelClosed);
  const std::unique_ptr<Channel> receiver = ends.make_receiver(40);
  std::thread closing([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    receiver->close();
  });
  CHECK_THROWS_AS(receiver->receive(), ChannelClosed);
  CHECK_THROWS_AS(sender->acquire(), ChannelClosed);
  closing.join();
}
