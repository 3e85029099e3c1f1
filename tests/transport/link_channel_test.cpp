// Messages over a link of a given rate and latency, by a clock that only the test moves.
#include "transport/link_channel.hpp"

#include <atomic>
#include <thread>

#include "catch.hpp"

using namespace pipetrain;

namespace {

constexpr std::int64_t us = 1000, hour = 3'600'000'000'000;

struct LinkRig {
  // 1e9 bytes a second: a byte a nanosecond.
  explicit LinkRig(double latency_us = 0, int packets = 4)
      : memory(static_cast<std::size_t>(packets)) {
    ChannelOptions options;
    for (std::byte& byte : memory) options.packets.push_back(&byte);
    channel =
        make_link_channel(make_in_process_channel(options),
                          {.packets = memory.size(),
                           .rate = {.bytes_per_second = 1e9, .latency_seconds = latency_us * 1e-6},
                           .clock = &clock});
  }
  void send(std::size_t bytes, int microbatch = 0) const {
    Packet* const packet = channel->acquire();
    packet->bytes = bytes;
    packet->microbatch = {microbatch};
    channel->send(packet);
  }
  int receive() const {
    Packet* const packet = channel->receive();
    const int microbatch = packet->microbatch.value;
    channel->release(packet);
    return microbatch;
  }
  // Whether a message comes at that time, and not a nanosecond earlier.
  bool comes_at(std::int64_t ns) {
    now = ns - 1;
    if (channel->can_receive()) return false;
    now = ns;
    return channel->can_receive();
  }

  std::vector<std::byte> memory;
  std::atomic<std::int64_t> now = 0;
  LinkClock clock{[this] { return now.load(); }};
  std::unique_ptr<Channel> channel;
};

// Waits on a thread of its own for what comes; `closed` if the channel was closed instead.
struct Receiver {
  explicit Receiver(LinkRig& rig)
      : thread([this, &rig] {
          try {
            rig.receive();
            received = true;
          } catch (const ChannelClosed&) {
            closed = true;
          }
        }) {}
  ~Receiver() { thread.join(); }
  std::atomic<bool> received = false, closed = false;
  std::thread thread;
};

}  // namespace

TEST_CASE("a message arrives after its bytes and the latency", "[transport][link]") {
  LinkRig rig(50);
  rig.now = 10 * us;
  rig.send(2000);
  CHECK(rig.comes_at((10 + 2 + 50) * us));
  CHECK(rig.receive() == 0);
  CHECK_FALSE(rig.channel->can_receive());
}

TEST_CASE("a link is busy for a message's bytes, not for its latency", "[transport][link]") {
  LinkRig rig(50);
  rig.send(2000, 0);
  rig.send(3000, 1);
  rig.now = 1 * us;
  rig.send(1000, 2);
  CHECK(rig.comes_at((2 + 50) * us));
  CHECK(rig.receive() == 0);
  CHECK(rig.comes_at((2 + 3 + 50) * us));
  CHECK(rig.receive() == 1);
  CHECK(rig.comes_at((2 + 3 + 1 + 50) * us));
  CHECK(rig.receive() == 2);
  rig.now = 100 * us;  // the link has been idle
  rig.send(1000, 3);
  CHECK(rig.comes_at((100 + 1 + 50) * us));
}

TEST_CASE("over a link packets go round in their order", "[transport][link]") {
  LinkRig rig(1, 3);
  int sent = 0, received = 0;
  for (const int burst : {3, 1, 2, 3, 2}) {
    for (int i = 0; i < burst; ++i) rig.send(100, sent++);
    rig.now += 10 * us;
    for (int i = 0; i < burst; ++i) CHECK(rig.receive() == received++);
  }
}

TEST_CASE("a message without bytes takes the latency alone", "[transport][link]") {
  LinkRig rig(7);
  rig.send(0);
  CHECK(rig.comes_at(7 * us));
}

TEST_CASE("closing wakes a thread that waits for a message on its way", "[transport][link]") {
  LinkRig rig(hour / us);
  rig.send(100);
  {
    Receiver receiver(rig);
    std::this_thread::yield();
    rig.channel->close();
  }
  CHECK(rig.channel->can_receive());  // it would throw, and not wait
  CHECK_THROWS_AS(rig.receive(), ChannelClosed);
  CHECK_THROWS_AS(rig.channel->acquire(), ChannelClosed);
}

TEST_CASE("a receiver waits until the message is due", "[transport][link]") {
  LinkRig rig(1000);
  rig.send(100);
  Receiver receiver(rig);
  for (int i = 0; i < 1000; ++i) std::this_thread::yield();
  CHECK_FALSE(receiver.received);
  rig.now = 2000 * us;
}

TEST_CASE("once a drain is asked for, a link delivers at once", "[transport][link]") {
  LinkRig rig(hour / us);
  std::atomic<bool> drain = false;
  rig.clock.hurry_once(&drain);
  rig.send(100);
  CHECK_FALSE(rig.channel->can_receive());
  {
    Receiver receiver(rig);
    drain = true;
  }
  rig.send(100, 1);
  CHECK(rig.receive() == 1);
  drain = false;
  rig.clock.hurry_once(nullptr);
}

TEST_CASE("a ring all-reduce sends 2 (m - 1) messages of an m-th of the bytes",
          "[transport][link]") {
  const LinkRate rate{.bytes_per_second = 1e6, .latency_seconds = 1e-3};
  CHECK(rate.ring_seconds(4000, 1) == 0);
  CHECK(rate.ring_seconds(4000, 4) == Approx(6 * (1e-3 + 1e-3)));
  CHECK(LinkRate{}.ring_seconds(4000, 4) == 0);
}
