#include "transport/host_channel.hpp"

#include <atomic>
#include <cstring>
#include <deque>
#include <utility>
#include <vector>

#include "base/check.hpp"
#include "transport/packet_head.hpp"

namespace pipetrain {
namespace {

constexpr int spins_before_sleep = 4000;

class HostEnd : public Channel {
 public:
  HostEnd(const RemoteEndOptions& options, SharedPackets shared, bool sends)
      : limits_{options.packets.samples, options.packet_bytes},
        peer_(options.peer),
        spins_(options.packets.spin ? spins_before_sleep : 0),
        shared_(std::move(shared)),
        bell_(sends ? shared_.sender_bell() : shared_.receiver_bell()) {
    PIPETRAIN_CHECK(!options.packets.packets.empty(), "a channel needs packets");
  }

  void close() noexcept override {
    closed_ = true;
    bell_.ring();
  }

 protected:
  // Throws ChannelClosed where it is closed, there() or not.
  void wait_until(const auto& there) {
    for (int i = 0; i < spins_ && !there() && !closed_; ++i) __builtin_ia32_pause();
    if (!there() && !closed_) bell_.wait_until([&] { return there() || closed_; });
    if (closed_) throw ChannelClosed();
  }

  const PacketLimits limits_;
  const int peer_, spins_;
  SharedPackets shared_;
  Bell& bell_;  // of this end
  std::atomic<bool> closed_ = false;
};

class HostSendingEnd final : public HostEnd {
 public:
  HostSendingEnd(const RemoteEndOptions& options, SharedPackets shared)
      : HostEnd(options, std::move(shared), true), packets_(options.packets.packets.size()) {
    for (std::size_t i = 0; i < packets_.size(); ++i) {
      packets_[i].index = static_cast<int>(i);
      packets_[i].data = options.packets.packets[i];
      packets_[i].ids.reserve(static_cast<std::size_t>(options.packets.samples));
      free_.push_back(&packets_[i]);
    }
  }

  // Each packet that is written has a shared one for it.
  Packet* acquire() override {
    wait_until([&] { return has_shared() && !free_.empty(); });
    Packet* const packet = free_.front();
    free_.pop_front();
    packet->holders = 1;  // until it is sent
    packet->ids.clear();
    ++written_;
    return packet;
  }
  void send(Packet* packet) override {
    if (closed_) throw ChannelClosed();
    const std::uint32_t number = taken_.front();
    write_head(*packet, limits_, shared_.head(number));
    std::memcpy(shared_.data(number), packet->data, packet->bytes);
    taken_.pop_front();
    --written_;
    shared_.send(number);
    forget(packet);
  }
  void retain(Packet* packet) override { ++packet->holders; }
  void forget(Packet* packet) override {
    PIPETRAIN_CHECK(packet->holders > 0, "a packet is released more often than held");
    if (--packet->holders == 0) free_.push_back(packet);
  }
  bool can_acquire() const override {
    return closed_ || (!free_.empty() && (taken_.size() > written_ || shared_.any_free()));
  }

  Packet* receive() override { PIPETRAIN_CHECK(false, "a sending end receives nothing"); }
  void release(Packet*) override { PIPETRAIN_CHECK(false, "a sending end receives nothing"); }
  bool can_receive() const override { return false; }

 private:
  bool has_shared() {
    if (taken_.size() > written_) return true;
    if (const auto number = shared_.take()) taken_.push_back(*number);
    return taken_.size() > written_;
  }

  std::vector<Packet> packets_;
  std::deque<Packet*> free_;
  std::deque<std::uint32_t> taken_;  // free shared packets
  std::size_t written_ = 0;          // packets that they are for
};

class HostReceivingEnd final : public HostEnd {
 public:
  HostReceivingEnd(const RemoteEndOptions& options, SharedPackets shared)
      : HostEnd(options, std::move(shared), false), packets_(shared_sizes(options).count) {
    for (std::uint32_t i = 0; i < packets_.size(); ++i) {
      packets_[i].index = static_cast<int>(i);
      packets_[i].data = shared_.data(i);
      packets_[i].ids.reserve(static_cast<std::size_t>(options.packets.samples));
    }
  }

  Packet* receive() override {
    wait_until([&] { return shared_.any_sent(); });
    const std::uint32_t number = *shared_.receive();
    Packet& packet = packets_[number];
    read_head(shared_.head(number), limits_, announced_bytes(shared_.head(number)), peer_, packet);
    packet.holders = 1;
    return &packet;
  }
  void release(Packet* packet) override {
    PIPETRAIN_CHECK(packet->holders > 0, "a packet is released more often than held");
    packet->holders = 0;
    shared_.give_back(static_cast<std::uint32_t>(packet->index));
  }
  bool can_receive() const override { return closed_ || shared_.any_sent(); }

  Packet* acquire() override { PIPETRAIN_CHECK(false, "a receiving end sends nothing"); }
  void retain(Packet*) override { PIPETRAIN_CHECK(false, "a receiving end sends nothing"); }
  void send(Packet*) override { PIPETRAIN_CHECK(false, "a receiving end sends nothing"); }
  void forget(Packet*) override { PIPETRAIN_CHECK(false, "a receiving end sends nothing"); }
  bool can_acquire() const override { return false; }

 private:
  std::vector<Packet> packets_;
};

}  // namespace

SharedPacketSizes shared_sizes(const RemoteEndOptions& options) {
  return {.count = static_cast<std::uint32_t>(options.packets.packets.size()),
          .head = packet_head_bytes({options.packets.samples, options.packet_bytes}),
          .data = options.packet_bytes};
}

std::unique_ptr<Channel> make_host_sending_end(const RemoteEndOptions& options,
                                               SharedPackets shared) {
  return std::make_unique<HostSendingEnd>(options, std::move(shared));
}

std::unique_ptr<Channel> make_host_receiving_end(const RemoteEndOptions& options,
                                                 SharedPackets shared) {
  return std::make_unique<HostReceivingEnd>(options, std::move(shared));
}

}  // namespace pipetrain
