// What the two ends of a remote channel share: packets with their heads, and a lock.
#pragma once

#include <condition_variable>
#include <deque>
#include <mutex>
#include <vector>

#include "transport/packet_head.hpp"
#include "transport/remote_channel.hpp"

namespace pipetrain {

// A packet and the head that is sent before it.
struct HeadedPacket {
  Packet packet;
  std::vector<std::byte> head;
  RankWire::Request head_request = -1, data_request = -1;
  std::size_t head_bytes = 0, data_bytes = 0;  // that arrived
};

class RemoteEnd : public Channel, public Polled {
 public:
  explicit RemoteEnd(const RemoteEndOptions& options);

  void close() noexcept override;

 protected:
  HeadedPacket& headed(Packet* packet) { return packets_[packet->index]; }
  // Waits for the queue to have a packet, and takes the first.
  Packet* take(std::deque<Packet*>& queue);
  bool has(const std::deque<Packet*>& queue) const;

  const RemoteEndOptions options_;
  const PacketLimits limits_;
  std::vector<HeadedPacket> packets_;
  bool closed_ = false;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
};

}  // namespace pipetrain
