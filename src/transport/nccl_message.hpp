// What crosses between processes besides a packet's tensors. It follows them in the same message,
// whose size never changes.
//
//   | the packet's tensors, packet_bytes, to a multiple of 64 | header | sample ids |
//
// The header says which packet it is, so that one out of order, or from another channel, is
// recognised.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "base/cache_line.hpp"
#include "transport/channel.hpp"

namespace pipetrain {

struct MessageShape {
  std::size_t packet_bytes = 0;  // of the tensors
  int samples = 1;               // in the largest micro-batch
  std::uint32_t channel = 0;     // hash of the channel's name

  std::size_t header_offset() const { return whole_lines(packet_bytes); }
  std::size_t header_bytes() const;
  std::size_t bytes() const { return header_offset() + header_bytes(); }
};

// What a packet takes at either end, for as many bytes of tensors and samples at most.
std::size_t nccl_packet_memory(std::size_t packet_bytes, int samples);

std::uint32_t channel_hash(const std::string& name);

// `to` and `from`: header_bytes() each, in host memory.
void write_header(std::byte* to, const MessageShape& shape, std::uint64_t sequence,
                  const Packet& packet);
// DeviceError if it is not the header of the message that is due.
void read_header(const std::byte* from, const MessageShape& shape, std::uint64_t sequence,
                 Packet& packet);

// The first message of a channel: do both ends expect the same messages? Always of the same size.
constexpr std::size_t greeting_bytes = 64;
void write_greeting(std::byte* to, const MessageShape& shape);
void check_greeting(const std::byte* from, const MessageShape& shape);

}  // namespace pipetrain
