#include "transport/nccl_message.hpp"

#include "base/check.hpp"
#include "base/error.hpp"
#include "catch.hpp"

using namespace pipetrain;

namespace {

const MessageShape shape{.packet_bytes = 100, .samples = 3, .channel = channel_hash("a")};

std::vector<std::byte> header(std::uint64_t sequence) {
  std::vector<std::byte> bytes(shape.header_bytes());
  Packet packet;
  packet.bytes = 96;
  packet.samples = 2;
  packet.microbatch = {7};
  packet.ids = {40, 41};
  write_header(bytes.data(), shape, sequence, packet);
  return bytes;
}

}  // namespace

TEST_CASE("a message is the tensors and its header, on lines of their own", "[transport]") {
  CHECK(shape.header_offset() == 128);
  CHECK(shape.header_bytes() % 64 == 0);
  CHECK(shape.bytes() == shape.header_offset() + shape.header_bytes());
  CHECK(MessageShape{64, 1, 0}.header_offset() == 64);
  CHECK(MessageShape{64, 1, 0}.header_bytes() >= greeting_bytes);
}

TEST_CASE("a header brings what was written", "[transport]") {
  Packet packet;
  read_header(header(9).data(), shape, 9, packet);
  CHECK(packet.bytes == 96);
  CHECK(packet.samples == 2);
  CHECK(packet.microbatch.value == 7);
  CHECK(packet.ids == std::vector<SampleId>{40, 41});
}

TEST_CASE("a packet out of its turn, or of another channel, is refused", "[transport]") {
  Packet packet;
  CHECK_THROWS_AS(read_header(header(9).data(), shape, 8, packet), DeviceError);
  MessageShape other = shape;
  other.channel = channel_hash("b");
  CHECK_THROWS_AS(read_header(header(9).data(), other, 9, packet), DeviceError);
  const std::vector<std::byte> nothing(shape.header_bytes());
  CHECK_THROWS_AS(read_header(nothing.data(), shape, 0, packet), DeviceError);
}

TEST_CASE("more samples than a header has room for are our own mistake", "[transport]") {
  std::vector<std::byte> bytes(shape.header_bytes());
  Packet packet;
  packet.ids = {1, 2, 3, 4};
  CHECK_THROWS_AS(write_header(bytes.data(), shape, 0, packet), InternalError);
}

TEST_CASE("a greeting is refused by an end that expects other packets", "[transport]") {
  std::vector<std::byte> bytes(greeting_bytes);
  write_greeting(bytes.data(), shape);
  CHECK_NOTHROW(check_greeting(bytes.data(), shape));
  MessageShape other = shape;
  other.packet_bytes = 101;
  CHECK_THROWS_AS(check_greeting(bytes.data(), other), DeviceError);
  other = shape;
  other.channel = channel_hash("b");
  CHECK_THROWS_AS(check_greeting(bytes.data(), other), DeviceError);
}
