// A channel over a link of a given rate and latency, around a channel that delivers at once:
//
//   sender     send ─┐                              a message of b bytes arrives at
//   link             └ [b / rate] ── latency ──┐    max(now, link free) + b / rate + latency;
//   receiver                                   └ receive     the link is busy for b / rate
//
// A packet is its sender's again only when the receiver has released it, as in the channel beneath.
#pragma once

#include <memory>

#include "base/link_rate.hpp"
#include "transport/channel.hpp"
#include "transport/link_clock.hpp"

namespace pipetrain {

struct LinkChannelOptions {
  std::size_t packets = 0;  // of the channel beneath
  LinkRate rate;
  const LinkClock* clock = nullptr;  // outlives the channel
};

// Threading as any channel's. Until a message is due can_receive() is false, and receive() waits
// without occupying a core.
std::unique_ptr<Channel> make_link_channel(std::unique_ptr<Channel> beneath,
                                           const LinkChannelOptions& options);

}  // namespace pipetrain
