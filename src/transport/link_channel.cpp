#include "transport/link_channel.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace pipetrain {
namespace {

std::int64_t nanoseconds(double seconds) { return std::llround(seconds * 1e9); }

class LinkChannel final : public Channel {
 public:
  LinkChannel(std::unique_ptr<Channel> beneath, const LinkChannelOptions& options)
      : beneath_(std::move(beneath)),
        rate_(options.rate),
        clock_(*options.clock),
        due_ns_(options.packets) {}

  void send(Packet* packet) override {
    {
      const std::lock_guard lock(mutex_);
      free_ns_ = std::max(clock_.now(), free_ns_) +
                 nanoseconds(rate_.busy_seconds(static_cast<double>(packet->bytes)));
      due_ns_[(received_ + under_way_++) % due_ns_.size()] =
          free_ns_ + nanoseconds(rate_.latency_seconds);
    }
    beneath_->send(packet);
  }

  Packet* receive() override {
    Packet* const packet = beneath_->receive();
    std::unique_lock lock(mutex_);
    clock_.wait_until(next_due(), lock, changed_, [&] { return closed_; });
    if (closed_) throw ChannelClosed();
    received_ = (received_ + 1) % due_ns_.size();
    --under_way_;
    return packet;
  }

  bool can_receive() const override {
    if (!beneath_->can_receive()) return false;
    const std::lock_guard lock(mutex_);
    return closed_ || clock_.is_due(next_due());
  }

  Packet* acquire() override { return beneath_->acquire(); }
  void retain(Packet* packet) override { beneath_->retain(packet); }
  void release(Packet* packet) override { beneath_->release(packet); }
  void forget(Packet* packet) override { beneath_->forget(packet); }
  bool can_acquire() const override { return beneath_->can_acquire(); }

  void close() noexcept override {
    beneath_->close();
    {
      const std::lock_guard lock(mutex_);
      closed_ = true;
    }
    changed_.notify_all();
  }

 private:
  std::int64_t next_due() const { return due_ns_[received_]; }

  std::unique_ptr<Channel> beneath_;
  const LinkRate rate_;
  const LinkClock& clock_;
  std::vector<std::int64_t> due_ns_;  // a ring: for the messages in flight, in order
  std::size_t received_ = 0, under_way_ = 0;
  std::int64_t free_ns_ = 0;
  bool closed_ = false;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
};

}  // namespace

std::unique_ptr<Channel> make_link_channel(std::unique_ptr<Channel> beneath,
                                           const LinkChannelOptions& options) {
  return std::make_unique<LinkChannel>(std::move(beneath), options);
}

}  // namespace pipetrain
