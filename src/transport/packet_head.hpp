// What travels between processes before a packet's tensors: which micro-batch it is, of how many
// samples and bytes.
#pragma once

#include <cstddef>
#include <span>

#include "transport/channel.hpp"

namespace pipetrain {

struct PacketLimits {
  int samples = 0;        // in the largest micro-batch
  std::size_t bytes = 0;  // of tensors
};

std::size_t packet_head_bytes(const PacketLimits& limits);
void write_head(const Packet& packet, const PacketLimits& limits, std::span<std::byte> head);
// Fills in everything but the packet's memory. DeviceError if the packet exceeds the limits, or if
// another number of bytes `arrived`; `peer`: the rank that sent it.
void read_head(std::span<const std::byte> head, const PacketLimits& limits, std::size_t arrived,
               int peer, Packet& packet);
// How many bytes of tensors the head announces, in the limits or not.
std::size_t announced_bytes(std::span<const std::byte> head);

}  // namespace pipetrain
