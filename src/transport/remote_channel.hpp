// Channels between the ranks of a job: each has one end, with packets of its own. What one end
// sends is received straight into a packet of the other.
//
//   sending rank    acquire ─> write ─> send ─> (gone)      receiving rank   (arrived) ─> receive
//                      ^ free once gone and forgotten                free again once released ─┘
//
// Each packet is two messages: a head of one size (micro-batch, samples, lengths, ids, bytes) and
// as many bytes of its tensors as the head says. A receiver has begun the receives of all its free
// packets beforehand. So a sender is ahead by no more packets than the receiver has, and the
// channel holds at least what one in one process does.
//
// Threading: as any channel's; bytes move on the job's wire thread. An error of the wire, or a
// message of another size than its head says, is that thread's (DeviceError), which closes all.
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
  int peer = 0;  // the rank at the other end
  int tag = 0;   // this and the next: of no other channel between the two, the same at both ends
  // The sending end's: messages leave as late as over such a link they would arrive
  // (link_channel.hpp); null: at once.
  const LinkRate* link = nullptr;
  const LinkClock* link_clock = nullptr;
};

std::unique_ptr<Channel> make_sending_end(const RemoteEndOptions& options);
std::unique_ptr<Channel> make_receiving_end(const RemoteEndOptions& options);

}  // namespace pipetrain
