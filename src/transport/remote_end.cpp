#include "transport/remote_end.hpp"

#include <spdlog/fmt/fmt.h>

#include <cstring>

#include "base/check.hpp"
#include "base/error.hpp"

namespace pipetrain {
namespace {

struct Head {
  std::int32_t microbatch = 0, samples = 0;
  std::int64_t source = 0, target = 0;  // Lengths
  std::uint64_t ids = 0, bytes = 0;
};

}  // namespace

RemoteEnd::RemoteEnd(const RemoteEndOptions& options)
    : options_(options), packets_(options.packets.packets.size()) {
  PIPETRAIN_CHECK(!packets_.empty(), "a channel needs packets");
  const auto samples = static_cast<std::size_t>(options.packets.samples);
  for (std::size_t i = 0; i < packets_.size(); ++i) {
    packets_[i].packet.index = static_cast<int>(i);
    packets_[i].packet.data = options.packets.packets[i];
    packets_[i].packet.ids.reserve(samples);
    packets_[i].head.resize(sizeof(Head) + samples * sizeof(SampleId));
  }
}

void RemoteEnd::write_head(HeadedPacket& headed) const {
  const Packet& packet = headed.packet;
  const Head head{packet.microbatch.value, packet.samples,    packet.lengths.source,
                  packet.lengths.target,   packet.ids.size(), packet.bytes};
  PIPETRAIN_CHECK(packet.ids.size() <= static_cast<std::size_t>(options_.packets.samples),
                  "a packet of more samples than its channel takes");
  PIPETRAIN_CHECK(packet.bytes <= options_.packet_bytes, "a packet of {} bytes, of {} at most",
                  packet.bytes, options_.packet_bytes);
  std::memcpy(headed.head.data(), &head, sizeof head);
  if (!packet.ids.empty())
    std::memcpy(headed.head.data() + sizeof head, packet.ids.data(),
                packet.ids.size() * sizeof(SampleId));
}

void RemoteEnd::read_head(HeadedPacket& headed) const {
  Head head;
  std::memcpy(&head, headed.head.data(), sizeof head);
  Packet& packet = headed.packet;
  const auto most = static_cast<std::uint64_t>(options_.packets.samples);
  bool fits = headed.head_bytes == headed.head.size() && head.samples >= 0 &&
              static_cast<std::uint64_t>(head.samples) <= most && head.ids <= most;
  if (fits) {
    packet.microbatch = {head.microbatch};
    packet.samples = head.samples;
    packet.lengths = {head.source, head.target};
    packet.ids.resize(head.ids);
    if (head.ids > 0)
      std::memcpy(packet.ids.data(), headed.head.data() + sizeof head, head.ids * sizeof(SampleId));
    packet.bytes = head.bytes;
    fits = head.bytes == headed.data_bytes;
  }
  if (!fits)
    throw DeviceError(
        fmt::format("rank {} sent a packet that does not match its head: {} samples, {} bytes, of "
                    "which {} arrived; start all ranks with one build and one config",
                    options_.peer, head.samples, head.bytes, headed.data_bytes));
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
