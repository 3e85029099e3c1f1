#include "transport/nccl_message.hpp"

#include <cstring>

#include "base/check.hpp"
#include "base/error.hpp"

namespace pipetrain {
namespace {

struct Header {
  std::uint32_t magic = 0x50544e43, channel = 0;
  std::uint64_t sequence = 0;
  std::int32_t samples = 0, microbatch = 0, ids = 0, unused = 0;
  Lengths lengths;
  std::uint64_t bytes = 0;
};

struct Greeting {
  std::uint32_t magic = 0x50544847, channel = 0;
  std::uint64_t packet_bytes = 0;
  std::int32_t samples = 0, version = 3;
};

static_assert(sizeof(Greeting) <= greeting_bytes);

[[noreturn]] void refuse(const std::string& what) {
  throw DeviceError(what +
                    "; all processes must run the same pipetrain with the same configuration");
}

}  // namespace

std::size_t MessageShape::header_bytes() const {
  const std::size_t bytes = sizeof(Header) + sizeof(SampleId) * static_cast<std::size_t>(samples);
  return whole_lines(bytes);
}

std::size_t nccl_packet_memory(std::size_t packet_bytes, int samples) {
  return MessageShape{packet_bytes, samples, 0}.bytes();
}

std::uint32_t channel_hash(const std::string& name) {  // FNV-1a
  std::uint32_t hash = 2166136261u;
  for (const char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 16777619u;
  return hash;
}

void write_header(std::byte* to, const MessageShape& shape, std::uint64_t sequence,
                  const Packet& packet) {
  PIPETRAIN_CHECK(packet.ids.size() <= static_cast<std::size_t>(shape.samples),
                  "a packet with {} samples, of at most {}", packet.ids.size(), shape.samples);
  Header header;
  header.channel = shape.channel;
  header.sequence = sequence;
  header.bytes = packet.bytes;
  header.samples = packet.samples;
  header.lengths = packet.lengths;
  header.microbatch = packet.microbatch.value;
  header.ids = static_cast<std::int32_t>(packet.ids.size());
  std::memcpy(to, &header, sizeof header);
  if (!packet.ids.empty())
    std::memcpy(to + sizeof header, packet.ids.data(), sizeof(SampleId) * packet.ids.size());
}

void read_header(const std::byte* from, const MessageShape& shape, std::uint64_t sequence,
                 Packet& packet) {
  Header header;
  std::memcpy(&header, from, sizeof header);
  if (header.magic != Header{}.magic || header.channel != shape.channel || header.ids < 0 ||
      header.ids > shape.samples)
    refuse("received a packet that belongs to another channel");
  if (header.sequence != sequence)
    refuse(fmt::format("packet {} arrived instead of packet {}", header.sequence, sequence));
  packet.bytes = header.bytes;
  packet.samples = header.samples;
  packet.lengths = header.lengths;
  packet.microbatch = {header.microbatch};
  packet.ids.resize(header.ids);
  if (header.ids > 0)
    std::memcpy(packet.ids.data(), from + sizeof header, sizeof(SampleId) * packet.ids.size());
}

void write_greeting(std::byte* to, const MessageShape& shape) {
  Greeting greeting;
  greeting.channel = shape.channel;
  greeting.packet_bytes = shape.packet_bytes;
  greeting.samples = shape.samples;
  std::memcpy(to, &greeting, sizeof greeting);
}

void check_greeting(const std::byte* from, const MessageShape& shape) {
  Greeting greeting;
  std::memcpy(&greeting, from, sizeof greeting);
  if (greeting.magic != Greeting{}.magic || greeting.version != Greeting{}.version ||
      greeting.channel != shape.channel)
    refuse("another channel answers, or another version of pipetrain");
  if (greeting.packet_bytes != shape.packet_bytes || greeting.samples != shape.samples)
    refuse(fmt::format("packets of {} bytes and {} samples meet packets of {} bytes and {} samples",
                       greeting.packet_bytes, greeting.samples, shape.packet_bytes, shape.samples));
}

}  // namespace pipetrain
