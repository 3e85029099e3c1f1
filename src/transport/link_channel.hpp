// A channel over a link of a given rate and latency; it wraps a channel that delivers at once:
//
//   sender     send ─┐                              a message of b bytes arrives at
//   link             └ [b / rate] ── latency ──┐    max(now, link free) + b / rate + latency;
//   receiver                                   └ receive     the link is busy for b / rate
//
// As in the wrapped channel, the sender gets a packet back only when the receiver has released it.
#pragma once

#include <memory>

#include "base/link_rate.hpp"
#include "transport/channel.hpp"
#include "transport/link_clock.hpp"

namespace pipetrain {

struct LinkChannelOptions {
  std::size_t packets = 0;  // of the wrapped channel
  LinkRate rate;
  const LinkClock* clock = nullptr;  // must outlive the channel
};

// Threading: as for any channel. can_receive() is false until a message is due, and receive() waits
// without using a core.
std::unique_ptr<Channel> make_link_channel(std::unique_ptr<Channel> beneath,
                                           const LinkChannelOptions& options);

}  // namespace pipetrain
