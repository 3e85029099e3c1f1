// How a micro-batch's tensors cross from one stage to the next: the second virtual seam.
//
// A channel belongs to one boundary and one kind (activations forward, gradients backward) and is
// first in, first out. It owns a fixed set of packets:
//
//   sender    acquire() ─> writes packet.data ─> send()    receiver    receive() ─> reads ─>
//   release()
//                 ^                                                                          │
//                 └──────────────────────── free packets ────────────────────────────────────┘
//
// send() never blocks; acquire() waits while no packet is free and receive() while none has been
// sent. In one process a packet's memory is handed over, nothing is copied. A sender that still
// reads what it sent (retain()) shares the packet: it is free when the receiver has released it
// and the sender has forgotten it.
//
// Threading: one sending and one receiving thread. close() from any thread, also more than once:
// from then on acquire() and receive() throw ChannelClosed, those that wait included.
#pragma once

#include <cstddef>
#include <memory>
#include <stdexcept>
#include <vector>

#include "base/ids.hpp"
#include "base/lengths.hpp"

namespace pipetrain {

struct Packet {
  int index = 0;  // among its channel's
  std::byte* data = nullptr;
  std::size_t bytes = 0;  // of data, up to the end of its last tensor; the sender says it
  int samples = 0;
  Lengths lengths;  // of its samples
  MicrobatchId microbatch;
  std::vector<SampleId> ids;  // capacity reserved for a whole micro-batch; travels with the tensors
  int holders = 0;            // the channel's own count
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
  virtual void release(Packet* packet) = 0;  // the receiver
  virtual void forget(Packet* packet) = 0;   // the sender, what it retained
  // Would the call wait? For workers that share a thread.
  virtual bool can_acquire() const = 0;
  virtual bool can_receive() const = 0;
  virtual void close() noexcept = 0;
};

struct ChannelOptions {
  std::vector<std::byte*> packets;  // memory of each; the caller's, alive as long as the channel
  int samples = 1;                  // largest micro-batch
  bool spin =
      false;  // wait actively for some microseconds first: only where every worker has a core
};

std::unique_ptr<Channel> make_in_process_channel(const ChannelOptions& options);

}  // namespace pipetrain
