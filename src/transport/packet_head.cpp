#include "transport/packet_head.hpp"

#include <spdlog/fmt/fmt.h>

#include <cstdint>
#include <cstring>

#include "base/check.hpp"
#include "base/error.hpp"

namespace pipetrain {
namespace {

struct Head {
  std::int32_t microbatch = 0, samples = 0;
  std::int64_t source = 0, target = 0;  // Lengths
  std::uint64_t ids = 0, bytes = 0;
};

Head head_of(std::span<const std::byte> bytes) {
  Head head;
  if (bytes.size() >= sizeof head) std::memcpy(&head, bytes.data(), sizeof head);
  return head;
}

}  // namespace

std::size_t packet_head_bytes(const PacketLimits& limits) {
  return sizeof(Head) + static_cast<std::size_t>(limits.samples) * sizeof(SampleId);
}

void write_head(const Packet& packet, const PacketLimits& limits, std::span<std::byte> bytes) {
  const Head head{packet.microbatch.value, packet.samples,    packet.lengths.source,
                  packet.lengths.target,   packet.ids.size(), packet.bytes};
  PIPETRAIN_CHECK(packet.ids.size() <= static_cast<std::size_t>(limits.samples),
                  "a packet of more samples than its channel takes");
  PIPETRAIN_CHECK(packet.bytes <= limits.bytes, "a packet of {} bytes, of {} at most", packet.bytes,
                  limits.bytes);
  std::memcpy(bytes.data(), &head, sizeof head);
  if (!packet.ids.empty())
    std::memcpy(bytes.data() + sizeof head, packet.ids.data(),
                packet.ids.size() * sizeof(SampleId));
}

void read_head(std::span<const std::byte> bytes, const PacketLimits& limits, std::size_t arrived,
               int peer, Packet& packet) {
  const Head head = head_of(bytes);
  const auto most = static_cast<std::uint64_t>(limits.samples);
  const bool fits = bytes.size() == packet_head_bytes(limits) && head.samples >= 0 &&
                    static_cast<std::uint64_t>(head.samples) <= most && head.ids <= most &&
                    head.bytes == arrived && head.bytes <= limits.bytes;
  if (!fits)
    throw DeviceError(
        fmt::format("rank {} sent a packet that does not match its head: {} samples, {} bytes, of "
                    "which {} arrived; start all ranks with one build and one config",
                    peer, head.samples, head.bytes, arrived));
  packet.microbatch = {head.microbatch};
  packet.samples = head.samples;
  packet.lengths = {head.source, head.target};
  packet.ids.resize(head.ids);
  if (head.ids > 0)
    std::memcpy(packet.ids.data(), bytes.data() + sizeof head, head.ids * sizeof(SampleId));
  packet.bytes = head.bytes;
}

std::size_t announced_bytes(std::span<const std::byte> bytes) { return head_of(bytes).bytes; }

}  // namespace pipetrain
