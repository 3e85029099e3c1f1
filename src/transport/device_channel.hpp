// A channel between stages whose streams work asynchronously (backend/stream.hpp): it wraps a
// channel that hands packets over on the host, and adds fences by which each stage's stream waits
// for the other's.
//
//   sender's stream     [writes packet]─sent─┐              ┌─>[writes it again]
//   receiver's stream                        └─>[reads it]─read
//
// Stages on one device share the packets' memory. Between two devices, a transfer stream on the
// sender's device copies each packet to its twin on the receiver's:
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
  std::size_t packets = 0;                        // of the wrapped channel
  std::size_t bytes = 0;                          // per packet
  int samples = 1;                                // in the largest micro-batch
  Stream *sender = nullptr, *receiver = nullptr;  // must outlive the channel
  std::unique_ptr<Stream> transfer = {};          // between two devices: on the sender's; else null
  std::vector<std::byte*> twins = {};  // one per packet, on the receiver's device; else empty
};

// Threading: as for any channel; the sending thread uses `sender` and `transfer`, the receiving
// thread `receiver`.
std::unique_ptr<Channel> make_device_channel(std::unique_ptr<Channel> beneath,
                                             DeviceChannelOptions options);

}  // namespace pipetrain
