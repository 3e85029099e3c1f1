// What every transport promises (transport/channel.hpp). A new one is one more line of
// `transports`.
#include "transport/channel.hpp"

#include <atomic>
#include <thread>

#include "base/check.hpp"
#include "catch.hpp"

using namespace pipetrain;

namespace {

struct Transport {
  const char* name;
  std::unique_ptr<Channel> (*make)(const ChannelOptions&);
  bool spin = false;
};

const Transport transports[] = {
    {"in process", make_in_process_channel},
    {"in process, waiting actively", make_in_process_channel, true},
};

// A channel and the memory of its packets.
struct OneChannel {
  OneChannel(const Transport& transport, int packets, int samples = 4)
      : memory(static_cast<std::size_t>(packets), std::vector<std::byte>(64)) {
    ChannelOptions options;
    for (auto& block : memory) options.packets.push_back(block.data());
    options.samples = samples;
    options.spin = transport.spin;
    channel = transport.make(options);
  }
  void send(int microbatch) {
    Packet* const packet = channel->acquire();
    packet->microbatch = {microbatch};
    channel->send(packet);
  }
  std::vector<std::vector<std::byte>> memory;
  std::unique_ptr<Channel> channel;
};

const Transport& each_transport() {
  const Transport& transport = transports[GENERATE(range(std::size_t{0}, std::size(transports)))];
  UNSCOPED_INFO(transport.name);
  return transport;
}

// Runs `wait` on a thread of its own; returns once that thread has had time to begin waiting, or
// at the latest after a moment: a test that passes does not depend on how long that took.
template <class Wait>
std::thread start_waiting(std::atomic<bool>& started, const Wait& wait) {
  std::thread thread([&started, wait] {
    started = true;
    wait();
  });
  while (!started) std::this_thread::yield();
  for (int i = 0; i < 1000; ++i) std::this_thread::yield();
  return thread;
}

}  // namespace

TEST_CASE("packets come out in the order they went in", "[transport]") {
  OneChannel rig(each_transport(), 3);
  int sent = 0, received = 0;
  for (const int burst : {3, 1, 2, 3, 2}) {  // the ring of three turns more than once
    for (int i = 0; i < burst; ++i) rig.send(sent++);
    for (int i = 0; i < burst; ++i) {
      Packet* const packet = rig.channel->receive();
      CHECK(packet->microbatch.value == received++);
      rig.channel->release(packet);
    }
  }
}

TEST_CASE("a packet brings what was written, its samples and their ids", "[transport]") {
  OneChannel rig(each_transport(), 2);
  Packet* const sent = rig.channel->acquire();
  REQUIRE(sent->data != nullptr);
  CHECK(sent->ids.capacity() >= 4);
  sent->data[0] = std::byte{7};
  sent->data[63] = std::byte{9};
  sent->samples = 3;
  sent->ids.assign({30, 10, 20});
  rig.channel->send(sent);
  const Packet* const received = rig.channel->receive();
  CHECK(received->data[0] == std::byte{7});
  CHECK(received->data[63] == std::byte{9});
  CHECK(received->samples == 3);
  CHECK(received->ids == std::vector<SampleId>{30, 10, 20});
}

TEST_CASE("in one process the memory itself is handed over", "[transport]") {
  const Transport& transport = transports[GENERATE(0, 1)];
  OneChannel rig(transport, 2);
  Packet* const sent = rig.channel->acquire();
  const std::byte* const data = sent->data;
  CHECK((data == rig.memory[0].data() || data == rig.memory[1].data()));
  rig.channel->send(sent);
  CHECK(rig.channel->receive()->data == data);
}

TEST_CASE("a channel has as many packets as it was given, none twice", "[transport]") {
  OneChannel rig(each_transport(), 3);
  const Packet *a = rig.channel->acquire(), *b = rig.channel->acquire();
  CHECK(rig.channel->can_acquire());
  const Packet* const c = rig.channel->acquire();
  CHECK(a->data != b->data);
  CHECK(b->data != c->data);
  CHECK(a->data != c->data);
  CHECK_FALSE(rig.channel->can_acquire());
}

TEST_CASE("can_acquire and can_receive say whether the call would wait", "[transport]") {
  OneChannel rig(each_transport(), 1);
  Channel& channel = *rig.channel;
  CHECK(channel.can_acquire());
  CHECK_FALSE(channel.can_receive());
  Packet* packet = channel.acquire();
  CHECK_FALSE(channel.can_acquire());
  CHECK_FALSE(channel.can_receive());
  channel.send(packet);
  CHECK_FALSE(channel.can_acquire());
  CHECK(channel.can_receive());
  packet = channel.receive();
  CHECK_FALSE(channel.can_acquire());
  CHECK_FALSE(channel.can_receive());
  channel.release(packet);
  CHECK(channel.can_acquire());
  CHECK_FALSE(channel.can_receive());
}

TEST_CASE("acquire waits until a packet is free", "[transport]") {
  OneChannel rig(each_transport(), 1);
  rig.send(0);
  std::atomic<bool> started = false, released = false, too_early = false;
  std::thread sender = start_waiting(started, [&] {
    Packet* const packet = rig.channel->acquire();
    too_early = !released;
    packet->microbatch = {1};
    rig.channel->send(packet);
  });
  Packet* const first = rig.channel->receive();
  CHECK(first->microbatch.value == 0);
  released = true;
  rig.channel->release(first);
  CHECK(rig.channel->receive()->microbatch.value == 1);
  sender.join();
  CHECK_FALSE(too_early);
}

TEST_CASE("receive waits until a packet is sent", "[transport]") {
  OneChannel rig(each_transport(), 1);
  std::atomic<bool> started = false, sent = false, too_early = false;
  int microbatch = -1;
  std::thread receiver = start_waiting(started, [&] {
    microbatch = rig.channel->receive()->microbatch.value;
    too_early = !sent;
  });
  sent = true;
  rig.send(5);
  receiver.join();
  CHECK(microbatch == 5);
  CHECK_FALSE(too_early);
}

TEST_CASE("a packet that its sender keeps is free when both have released it", "[transport]") {
  const bool sender_first = GENERATE(true, false);
  OneChannel rig(each_transport(), 1);
  Channel& channel = *rig.channel;
  Packet* const sent = channel.acquire();
  channel.retain(sent);
  channel.send(sent);
  Packet* const received = channel.receive();
  const auto let_go = [&](bool sender) {
    sender ? channel.forget(sent) : channel.release(received);
  };
  let_go(sender_first);
  CHECK_FALSE(channel.can_acquire());
  let_go(!sender_first);
  CHECK(channel.can_acquire());
  channel.release(channel.acquire());  // the count begins again: one holder, one release
  CHECK(channel.can_acquire());
}

TEST_CASE("one release too many is our own mistake", "[transport]") {
  OneChannel rig(each_transport(), 2);
  Packet* const packet = rig.channel->acquire();
  rig.channel->release(packet);
  CHECK_THROWS_AS(rig.channel->release(packet), InternalError);
}

TEST_CASE("close wakes both ends, and they throw", "[transport]") {
  const Transport& transport = each_transport();
  OneChannel full(transport, 1), empty(transport, 1);
  full.send(0);
  std::atomic<bool> sender_waits = false, receiver_waits = false;
  std::atomic<int> closed = 0;
  const auto expect_closed = [&closed](const auto& call) {
    try {
      call();
    } catch (const ChannelClosed&) {
      ++closed;
    }
  };
  std::thread sender =
      start_waiting(sender_waits, [&] { expect_closed([&] { full.channel->acquire(); }); });
  std::thread receiver =
      start_waiting(receiver_waits, [&] { expect_closed([&] { empty.channel->receive(); }); });
  full.channel->close();
  empty.channel->close();
  sender.join();
  receiver.join();
  CHECK(closed == 2);
}

TEST_CASE("a closed channel stays closed, with packets in it or not", "[transport]") {
  OneChannel rig(each_transport(), 3);
  Channel& channel = *rig.channel;
  rig.send(0);
  Packet* const mine = channel.acquire();
  channel.close();
  channel.close();
  CHECK_THROWS_AS(channel.acquire(), ChannelClosed);
  CHECK_THROWS_AS(channel.receive(), ChannelClosed);
  CHECK_THROWS_AS(channel.send(mine), ChannelClosed);
  CHECK(channel.can_acquire());  // neither would wait: they throw
  CHECK(channel.can_receive());
  CHECK_NOTHROW(channel.release(mine));
}

TEST_CASE("many packets across two threads arrive whole and in order", "[transport]") {
  constexpr int count = 20000;
  const int packets = GENERATE(1, 3);
  OneChannel rig(each_transport(), packets);
  std::thread sender([&] {
    for (int m = 0; m < count; ++m) {
      Packet* const packet = rig.channel->acquire();
      packet->microbatch = {m};
      packet->samples = 1 + m % 4;
      packet->ids.assign(static_cast<std::size_t>(packet->samples), m * 10L);
      packet->data[0] = static_cast<std::byte>(m % 251);
      rig.channel->retain(packet);
      rig.channel->send(packet);
      rig.channel->forget(packet);
    }
  });
  int wrong = 0;
  for (int m = 0; m < count; ++m) {
    Packet* const packet = rig.channel->receive();
    const std::vector<SampleId> ids(static_cast<std::size_t>(1 + m % 4), m * 10L);
    wrong += packet->microbatch.value != m || packet->samples != 1 + m % 4 || packet->ids != ids ||
             packet->data[0] != static_cast<std::byte>(m % 251);
    rig.channel->release(packet);
  }
  sender.join();
  CHECK(wrong == 0);
  CHECK_FALSE(rig.channel->can_receive());
}

TEST_CASE("a channel without packets is refused", "[transport]") {
  for (const Transport& transport : transports) CHECK_THROWS_AS(transport.make({}), InternalError);
}
