// How a micro-batch's tensors cross from one stage to the next: the second virtual seam.
//
// A channel belongs to one boundary and one kind (activations forward, gradients backward) and is
// first in, first out. It owns a fixed set of packets:
//
//   sender  acquire() ─> writes packet.data ─> send()    receiver  receive() ─> reads ─> release()
//              ^                                                                           │
//              └───────────────────────────── free packets ────────────────────────────────┘
//
// send() never blocks; acquire() waits while no packet is free, receive() while none has been sent.
// Within a process a packet's memory is handed over and nothing is copied. A sender that still
// reads what it sent calls retain() to share the packet: it is free again when the receiver has
// released it and the sender has forgotten it.
//
// Threading: one sending and one receiving thread. Any thread may call close(), also more than
// once: from then on acquire(), send() and receive() throw ChannelClosed, waiting calls included.
#pragma once

#include <cstddef>
#include <memory>
#include <stdexcept>
#include <vector>

#include "base/ids.hpp"
#include "base/lengths.hpp"

namespace pipetrain {

struct Packet {
  int index = 0;  // among the channel's packets
  std::byte* data = nullptr;
  std::size_t bytes = 0;  // of data, up to the end of its last tensor; set by the sender
  int samples = 0;
  Lengths lengths;  // of the samples
  MicrobatchId microbatch;
  std::vector<SampleId> ids;  // capacity reserved for a whole micro-batch; travels with the tensors
  int holders = 0;            // for the channel's own use
};

struct ChannelClosed : std::runtime_error {
  ChannelClosed() : std::runtime_error("the channel is closed") {}
};

class Channel {
 public:
  virtual ~Channel() = default;
  virtual Packet* acquire() = 0;
  virtual void send(Packet* packet) = 0;
  virtual Packet* receive() = 0;
  virtual void retain(Packet* packet) = 0;   // before send()
  virtual void release(Packet* packet) = 0;  // by the receiver
  virtual void forget(Packet* packet) = 0;   // by the sender, after retain()
  // If false, the call would wait. For workers that share a thread.
  virtual bool can_acquire() const = 0;
  virtual bool can_receive() const = 0;
  // By the sender: waits until the memory of all that it has sent may be used for something else
  // than this channel's packets. At once unless packets are copied.
  virtual void settle() {}
  // After a failure, when no thread uses the channel any more: ends what is on its way. Its memory
  // may then be freed.
  virtual void abandon() noexcept {}
  virtual void close() noexcept = 0;
};

struct ChannelOptions {
  std::vector<std::byte*> packets;  // one each; owned by the caller, must outlive the channel
  int samples = 1;                  // in the largest micro-batch
  bool spin = false;                // first spin, for 2 ms at most: only if every worker has a core
};

std::unique_ptr<Channel> make_in_process_channel(const ChannelOptions& options);

}  // namespace pipetrain
