// Packets in memory that a sender and a receiver in two processes of one host share, by number:
//
//   sender    take() ─> writes head, data ─> send()  receiver  receive() ─> reads ─> give_back()
//                ^                                                                       │
//                └────────────────────────── free packets ───────────────────────────────┘
//
// No lock is shared. A process whose peer is killed can wait for nothing but its bell, and a thread
// that learns of the death rings it.
//
// Threading: one sending thread, one receiving thread; any thread may ring.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "transport/bell.hpp"
#include "transport/shared_block.hpp"

namespace pipetrain {

struct SharedPacketSizes {
  std::uint32_t count = 0;
  std::size_t head = 0, data = 0;  // bytes of each
};

class SharedPackets {
 public:
  static std::size_t bytes(const SharedPacketSizes& sizes);
  // `fresh`: the block has just been made, and all packets are free.
  SharedPackets(SharedBlock block, const SharedPacketSizes& sizes, bool fresh);

  std::optional<std::uint32_t> take() { return free_.pop(); }
  void send(std::uint32_t packet);
  std::optional<std::uint32_t> receive() { return sent_.pop(); }
  void give_back(std::uint32_t packet);
  bool any_sent() const { return sent_.any(); }
  bool any_free() const { return free_.any(); }

  std::span<std::byte> head(std::uint32_t packet) const { return {at(packet), sizes_.head}; }
  std::byte* data(std::uint32_t packet) const;

  Bell& sender_bell() { return control_->sender; }
  Bell& receiver_bell() { return control_->receiver; }
  void hide() { block_.hide(); }

 private:
  // A queue with room for every packet. One side pushes, the other pops.
  struct Ends {
    alignas(64) std::atomic<std::uint64_t> pushed = 0;
    alignas(64) std::atomic<std::uint64_t> popped = 0;
  };
  struct Control {
    Ends sent, free;
    alignas(64) Bell sender;
    alignas(64) Bell receiver;
  };
  struct Queue {
    Ends* ends = nullptr;
    std::uint32_t* packets = nullptr;
    std::uint32_t count = 0;
    bool any() const { return ends->pushed != ends->popped; }
    void push(std::uint32_t packet);
    std::optional<std::uint32_t> pop();
  };

  std::byte* at(std::uint32_t packet) const;

  SharedBlock block_;
  const SharedPacketSizes sizes_;
  Control* control_ = nullptr;
  Queue sent_, free_;
};

}  // namespace pipetrain
