#include "transport/remote_end.hpp"

#include "base/check.hpp"

namespace pipetrain {

RemoteEnd::RemoteEnd(const RemoteEndOptions& options)
    : options_(options),
      limits_{options.packets.samples, options.packet_bytes},
      packets_(options.packets.packets.size()) {
  PIPETRAIN_CHECK(!packets_.empty(), "a channel needs packets");
  const auto samples = static_cast<std::size_t>(options.packets.samples);
  for (std::size_t i = 0; i < packets_.size(); ++i) {
    packets_[i].packet.index = static_cast<int>(i);
    packets_[i].packet.data = options.packets.packets[i];
    packets_[i].packet.ids.reserve(samples);
    packets_[i].head.resize(packet_head_bytes(limits_));
  }
}

Packet* RemoteEnd::take(std::deque<Packet*>& queue) {
  std::unique_lock lock(mutex_);
  wait_with(options_.wire_thread, lock, changed_, [&] { return !queue.empty() || closed_; });
  if (closed_) throw ChannelClosed();
  Packet* const packet = queue.front();
  queue.pop_front();
  return packet;
}

bool RemoteEnd::has(const std::deque<Packet*>& queue) const {
  const std::lock_guard lock(mutex_);
  return !queue.empty() || closed_;
}

void RemoteEnd::close() noexcept {
  {
    const std::lock_guard lock(mutex_);
    closed_ = true;
  }
  changed_.notify_all();
}

}  // namespace pipetrain
