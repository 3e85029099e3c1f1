// The sending end of a remote channel: remote_channel.hpp.
#include <algorithm>
#include <cmath>

#include "base/check.hpp"
#include "transport/remote_end.hpp"

namespace pipetrain {
namespace {

class RemoteSendingEnd final : public RemoteEnd {
 public:
  explicit RemoteSendingEnd(const RemoteEndOptions& options) : RemoteEnd(options) {
    for (HeadedPacket& headed : packets_) free_.push_back(&headed.packet);
    options_.wire_thread->add(*this);
  }
  ~RemoteSendingEnd() override { options_.wire_thread->remove(*this); }

  Packet* acquire() override {
    Packet* const packet = take(free_);
    packet->holders = 1;  // until it is gone
    packet->ids.clear();
    return packet;
  }
  void retain(Packet* packet) override {
    const std::lock_guard lock(mutex_);
    ++packet->holders;
  }
  void send(Packet* packet) override {
    {
      const std::lock_guard lock(mutex_);
      if (closed_) throw ChannelClosed();
      write_head(*packet, limits_, headed(packet).head);
      waiting_.push_back({packet, due_ns(packet->bytes)});
    }
    options_.wire_thread->wake();
  }
  void forget(Packet* packet) override { drop(packet); }

  Packet* receive() override { PIPETRAIN_CHECK(false, "a sending end receives nothing"); }
  void release(Packet*) override { PIPETRAIN_CHECK(false, "a sending end receives nothing"); }
  bool can_receive() const override { return false; }
  bool can_acquire() const override { return has(free_); }

  Activity poll(RankWire& wire) override {
    bool moved = false, sending = false;
    {
      const std::lock_guard lock(mutex_);
      for (; !waiting_.empty() && is_due(waiting_.front()); waiting_.pop_front(), moved = true)
        begin(wire, headed(waiting_.front().packet));
      while (!going_.empty() && gone(wire, *going_.front())) {
        free_when_dropped(&going_.front()->packet);
        going_.pop_front();
        moved = true;
      }
      sending = !going_.empty();
      if (!waiting_.empty())
        options_.wire_thread->sleep_at_most(waiting_.front().due_ns - options_.link_clock->now());
    }
    if (moved) changed_.notify_all();
    return moved ? Activity::Moved : sending ? Activity::Sending : Activity::None;
  }
  // What is still in flight when a job has failed is lost: its wire is cut.
  void withdraw(RankWire&) noexcept override {}

 private:
  void begin(RankWire& wire, HeadedPacket& headed) {
    headed.head_request =
        wire.send(options_.peer, options_.tag, headed.head.data(), headed.head.size());
    headed.data_request =
        wire.send(options_.peer, options_.tag + 1, headed.packet.data, headed.packet.bytes);
    going_.push_back(&headed);
  }
  static bool ended(RankWire& wire, RankWire::Request& request) {
    if (request >= 0 && wire.done(request)) request = -1;
    return request < 0;
  }
  static bool gone(RankWire& wire, HeadedPacket& headed) {
    const bool head = ended(wire, headed.head_request);
    return ended(wire, headed.data_request) && head;
  }
  void free_when_dropped(Packet* packet) {
    PIPETRAIN_CHECK(packet->holders > 0, "a packet is released more often than held");
    if (--packet->holders == 0) free_.push_back(packet);
  }
  void drop(Packet* packet) {
    {
      const std::lock_guard lock(mutex_);
      free_when_dropped(packet);
    }
    changed_.notify_all();
  }

  struct Waiting {
    Packet* packet = nullptr;
    std::int64_t due_ns = 0;
  };
  std::int64_t due_ns(std::size_t bytes) {
    if (!options_.link) return 0;
    const double busy = options_.link->busy_seconds(static_cast<double>(bytes));
    link_free_ns_ = std::max(options_.link_clock->now(), link_free_ns_) + std::llround(busy * 1e9);
    return link_free_ns_ + std::llround(options_.link->latency_seconds * 1e9);
  }
  bool is_due(const Waiting& waiting) const {
    return !options_.link || options_.link_clock->is_due(waiting.due_ns);
  }

  std::deque<Packet*> free_;
  std::deque<Waiting> waiting_;
  std::int64_t link_free_ns_ = 0;
  std::deque<HeadedPacket*> going_;
};

}  // namespace

std::unique_ptr<Channel> make_sending_end(const RemoteEndOptions& options) {
  return std::make_unique<RemoteSendingEnd>(options);
}

}  // namespace pipetrain
