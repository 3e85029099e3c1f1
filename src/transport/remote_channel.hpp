// Channels between the ranks of a job: each rank holds one end, with its own packets. What one end
// sends is received directly into a packet of the other.
//
//   sending rank    acquire ─> write ─> send ─> (gone)      receiving rank   (arrived) ─> receive
//                      ^ free once gone and forgotten                free again once released ─┘
//
// Each packet is two messages: a head of fixed size (micro-batch, samples, lengths, ids, bytes),
// and as many bytes of tensors as the head says. A receiver has posted receives for all its free
// packets in advance. So a sender can be ahead by no more packets than the receiver has, and the
// channel holds at least as many as one within a process.
//
// Threading: as for any channel; the job's wire thread moves the bytes. An error of the wire, or a
// message whose size is not what its head says, is thrown there (DeviceError) and closes
// everything.
#pragma once

#include <cstdint>
#include <memory>

#include "base/link_rate.hpp"
#include "transport/channel.hpp"
#include "transport/link_clock.hpp"
#include "transport/wire_thread.hpp"

namespace pipetrain {

struct RemoteEndOptions {
  ChannelOptions packets;        // of this end
  std::size_t packet_bytes = 0;  // of each, at most
  WireThread* wire_thread = nullptr;
  int peer = 0;  // the rank of the other end
  int tag = 0;   // uses this tag and the next; both ends name the same, and no other channel
                 // between the two does
  // For the sending end: delays each message until it would have arrived over such a link
  // (link_channel.hpp); null: no delay.
  const LinkRate* link = nullptr;
  const LinkClock* link_clock = nullptr;
};

std::unique_ptr<Channel> make_sending_end(const RemoteEndOptions& options);
std::unique_ptr<Channel> make_receiving_end(const RemoteEndOptions& options);

}  // namespace pipetrain
