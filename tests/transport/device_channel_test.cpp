// Which stream waits for which, when packets change hands.
#include "transport/device_channel.hpp"

#include <array>

#include "backend/late_stream.hpp"
#include "catch.hpp"

using namespace pipetrain;
using namespace pipetrain::testing;

namespace {

constexpr std::size_t kBytes = 64;

// A channel of one packet.
struct DeviceLink {
  explicit DeviceLink(bool two_devices)
      : sender("s", log), receiver("r", log, two_devices ? 1 : 0) {
    DeviceChannelOptions options{
        .packets = 1, .bytes = kBytes, .samples = 1, .sender = &sender, .receiver = &receiver};
    if (two_devices) {
      auto stream = std::make_unique<LateStream>("t", log);
      transfer = stream.get();
      options.transfer = std::move(stream);
      options.twins = {there.data()};
    }
    channel = make_device_channel(
        make_in_process_channel({.packets = {here.data()}, .samples = 1, .spin = false}),
        std::move(options));
    log.clear();
  }
  Packet* cross(std::byte value) {
    Packet* const packet = channel->acquire();
    sender.later([packet, value] { packet->data[0] = value; });
    packet->microbatch = {7};
    packet->ids.assign(1, 42);
    channel->send(packet);
    return packet;
  }

  Log log;
  LateStream sender, receiver;
  LateStream* transfer = nullptr;
  std::array<std::byte, kBytes> here{}, there{};
  std::unique_ptr<Channel> channel;
};

}  // namespace

TEST_CASE("on one device the receiver's stream waits for the sender's, and back", "[transport]") {
  DeviceLink rig(false);
  Packet* const sent = rig.cross(std::byte{1});
  Packet* const received = rig.channel->receive();
  CHECK(received == sent);
  rig.channel->release(received);
  CHECK(rig.log == Log{"s: record s1", "r: wait s1", "r: record r1"});
  rig.log.clear();
  rig.channel->acquire();
  CHECK(rig.log == Log{"s: wait r1"});
}

TEST_CASE(
    "a packet that the sender retains is written again after its own reads and the receiver's",
    "[transport]") {
  DeviceLink rig(false);
  Packet* const packet = rig.channel->acquire();
  rig.channel->retain(packet);
  rig.channel->send(packet);
  rig.channel->release(rig.channel->receive());
  CHECK_FALSE(rig.channel->can_acquire());
  rig.channel->forget(packet);
  REQUIRE(rig.channel->can_acquire());
  rig.log.clear();
  rig.channel->acquire();
  CHECK(rig.log == Log{"s: wait r1"});  // the sender's reads are its own stream's
}

TEST_CASE("between two devices a packet is copied once it is written and its twin is read",
          "[transport]") {
  DeviceLink rig(true);
  for (int round = 0; round < 2; ++round) {
    const auto value = static_cast<std::byte>(round + 5);
    rig.cross(value);
    Packet* const twin = rig.channel->receive();
    CHECK(twin->data == rig.there.data());
    CHECK(twin->microbatch == MicrobatchId{7});
    CHECK(twin->ids == std::vector<SampleId>{42});
    rig.channel->release(twin);
    rig.sender.go_on();
    rig.transfer->go_on();
    rig.receiver.go_on();
    CHECK(rig.there[0] == value);
  }
  CHECK(rig.log == Log{"s: record s1", "t: wait s1", "t: copy", "t: record t1", "r: wait t1",
                       "r: record r1",  // round 2:
                       "s: wait t1", "s: record s1", "t: wait s1", "t: wait r1", "t: copy",
                       "t: record t1", "r: wait t1", "r: record r1"});
}
