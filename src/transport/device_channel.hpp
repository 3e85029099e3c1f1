// A channel between stages whose streams work later than they are asked (backend/stream.hpp):
// around a channel that hands packets over on the host, fences make each stage's stream wait for
// the other's.
//
//   sender's stream     [writes packet]─sent─┐              ┌─>[writes it again]
//   receiver's stream                        └─>[reads it]─read
//
// Stages on one device share the packets' memory. Between two devices a stream of the sender's
// copies each packet to its twin at the receiver's:
//
//   sender's stream     [writes packet]─sent─┐                     ┌─>[writes it again]
//   transfer stream                          └─>[copies]─arrived───┤
//   receiver's stream                                              └─>[reads the twin]─read ...
#pragma once

#include <memory>
#include <vector>

#include "backend/stream.hpp"
#include "transport/channel.hpp"

namespace pipetrain {

struct DeviceChannelOptions {
  std::size_t packets = 0;                        // of the channel beneath
  std::size_t bytes = 0;                          // of each
  int samples = 1;                                // largest micro-batch
  Stream *sender = nullptr, *receiver = nullptr;  // alive as long as the channel
  std::unique_ptr<Stream> transfer = {};          // between two devices, of the sender's; else null
  std::vector<std::byte*> twins = {};  // the receiver's memory of each packet; else empty
};

// Threading as any channel's; the sending thread uses `sender` and `transfer`, the receiving one
// `receiver`.
std::unique_ptr<Channel> make_device_channel(std::unique_ptr<Channel> beneath,
                                             DeviceChannelOptions options);

}  // namespace pipetrain
