// A channel between two ranks, whichever way is the fastest that both have: through memory that
// both see where they are on one host (host_channel.hpp), otherwise over the wire
// (remote_channel.hpp). Both ends find out before the first packet: the receiving end makes the
// memory and says where it is, the sending end looks and answers.
#pragma once

#include <memory>

#include "transport/remote_channel.hpp"

namespace pipetrain {

inline constexpr int tags_per_rank_channel = 4;  // from RemoteEndOptions.tag

// The memory of a receiving end's packets is its own: in `options.packets.packets` only their
// number counts. `may_share`: false for an end that cannot, as if it were on another host. A
// channel with a link is always over the wire, which delays its messages.
std::unique_ptr<Channel> make_rank_sending_end(const RemoteEndOptions& options,
                                               bool may_share = true);
std::unique_ptr<Channel> make_rank_receiving_end(const RemoteEndOptions& options,
                                                 bool may_share = true);

}  // namespace pipetrain
