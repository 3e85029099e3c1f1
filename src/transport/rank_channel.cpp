#include "transport/rank_channel.hpp"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <optional>
#include <utility>

#include "base/aligned_vector.hpp"
#include "base/cache_line.hpp"
#include "transport/host_channel.hpp"

namespace pipetrain {
namespace {

constexpr std::chrono::seconds seconds_to_settle{2};
constexpr std::byte yes{1};

// What the two ends tell each other. It outlives an end that goes before it has been sent.
struct Negotiation {
  SharedAddress offer;
  std::byte answer = {};
};

// One end, which becomes one of two kinds once both ranks know which.
class RankEnd : public Channel, public Polled {
 public:
  RankEnd(const RemoteEndOptions& options, bool may_share)
      : options_(options), may_share_(may_share && !options.link) {}

  Packet* acquire() override { return decided().acquire(); }
  Packet* receive() override { return decided().receive(); }
  void send(Packet* packet) override { decided().send(packet); }
  void retain(Packet* packet) override { decided().retain(packet); }
  void release(Packet* packet) override { decided().release(packet); }
  void forget(Packet* packet) override { decided().forget(packet); }
  bool can_acquire() const override {
    const Channel* const end = end_seen_;
    return end ? end->can_acquire() : closed_.load();
  }
  bool can_receive() const override {
    const Channel* const end = end_seen_;
    return end ? end->can_receive() : closed_.load();
  }

  void close() noexcept override {
    {
      const std::lock_guard lock(mutex_);
      closed_ = true;
      if (end_) end_->close();
    }
    changed_.notify_all();
  }

  void withdraw(RankWire& wire) noexcept override {
    if (receiving_ >= 0) wire.withdraw(std::exchange(receiving_, -1));
    if (sending_ >= 0) options_.wire_thread->keep_to_the_end(said_);
  }

 protected:
  // Before an end goes: an end that has never been used goes only once what it says has been heard,
  // or has not been for a while. After one that has not, none waits any more.
  void settle() noexcept {
    if (std::uncaught_exceptions() > 0 || options_.wire_thread->is_unheard()) return;
    std::unique_lock lock(mutex_);
    if (!changed_.wait_for(lock, seconds_to_settle, [&] { return settled_ || closed_; }))
      options_.wire_thread->set_unheard();
  }
  // `make`: if it throws, the end stays as it is, and is not tried again.
  void decide(const auto& make) {
    settled_ = true;
    std::unique_ptr<Channel> end = make();
    {
      const std::lock_guard lock(mutex_);
      settled_ = sending_ < 0;
      end_ = std::move(end);
      if (closed_) end_->close();
      end_seen_ = end_.get();
    }
    changed_.notify_all();
  }
  void set_settled() {
    {
      const std::lock_guard lock(mutex_);
      settled_ = true;
    }
    changed_.notify_all();
  }
  bool has_come(RankWire& wire) {
    if (receiving_ >= 0 && wire.done(receiving_)) receiving_ = -1;
    return receiving_ < 0;
  }
  bool is_gone(RankWire& wire) {
    if (sending_ >= 0 && wire.done(sending_)) sending_ = -1;
    return sending_ < 0;
  }

  const RemoteEndOptions options_;
  const bool may_share_;
  RankWire::Request sending_ = -1, receiving_ = -1;
  const std::shared_ptr<Negotiation> said_ = std::make_shared<Negotiation>();
  std::atomic<bool> settled_ = false;
  AlignedVector<std::byte> memory_;  // of a receiving end over the wire

 private:
  Channel& decided() {
    if (Channel* const end = end_seen_) return *end;
    std::unique_lock lock(mutex_);
    wait_with(options_.wire_thread, lock, changed_, [&] { return end_ || closed_; });
    if (!end_) throw ChannelClosed();
    return *end_;
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::unique_ptr<Channel> end_;
  std::atomic<Channel*> end_seen_ = nullptr;
  std::atomic<bool> closed_ = false;
};

std::byte* raw_bytes(SharedAddress& address) { return reinterpret_cast<std::byte*>(&address); }

class RankReceivingEnd final : public RankEnd {
 public:
  RankReceivingEnd(const RemoteEndOptions& options, bool may_share) : RankEnd(options, may_share) {
    const SharedPacketSizes sizes = shared_sizes(options);
    if (may_share_)
      if (auto block = SharedBlock::make(SharedPackets::bytes(sizes))) {
        said_->offer = block->address();
        shared_.emplace(std::move(*block), sizes, true);
      }
    options_.wire_thread->add(*this);
  }
  ~RankReceivingEnd() override {
    settle();
    options_.wire_thread->remove(*this);
  }

  Activity poll(RankWire& wire) override {
    if (settled_) return Activity::None;
    if (!offered_) {
      offered_ = true;
      SharedAddress& offer = said_->offer;
      sending_ = wire.send(options_.peer, options_.tag + 2, raw_bytes(offer), sizeof offer);
      receiving_ = wire.receive(options_.peer, options_.tag + 3, &said_->answer, 1);
    }
    const bool gone = is_gone(wire);
    if (!has_come(wire) || !gone) return Activity::Sending;
    if (shared_) shared_->hide();
    if (said_->answer == yes)
      decide([&] { return make_host_receiving_end(options_, std::move(*shared_)); });
    else
      decide([&] { return make_receiving_end(with_memory()); });
    shared_.reset();
    return Activity::Moved;
  }

 private:
  RemoteEndOptions with_memory() {
    RemoteEndOptions options = options_;
    std::vector<std::byte*>& packets = options.packets.packets;
    const std::size_t each = whole_lines(options.packet_bytes);
    memory_.resize(packets.size() * each);
    for (std::size_t i = 0; i < packets.size(); ++i) packets[i] = memory_.data() + i * each;
    return options;
  }

  std::optional<SharedPackets> shared_;
  bool offered_ = false;
};

class RankSendingEnd final : public RankEnd {
 public:
  RankSendingEnd(const RemoteEndOptions& options, bool may_share) : RankEnd(options, may_share) {
    options_.wire_thread->add(*this);
  }
  ~RankSendingEnd() override {
    settle();
    options_.wire_thread->remove(*this);
  }

  Activity poll(RankWire& wire) override {
    if (settled_) return Activity::None;
    if (answered_) {
      if (!is_gone(wire)) return Activity::Sending;
      set_settled();
      return Activity::Moved;
    }
    if (!begun_) {
      begun_ = true;
      SharedAddress& offer = said_->offer;
      receiving_ = wire.receive(options_.peer, options_.tag + 2, raw_bytes(offer), sizeof offer);
    }
    if (!has_come(wire)) return Activity::Sending;
    std::optional<SharedPackets> shared = look();
    if (shared) said_->answer = yes;
    sending_ = wire.send(options_.peer, options_.tag + 3, &said_->answer, 1);
    answered_ = true;
    decide([&] {
      return shared ? make_host_sending_end(options_, std::move(*shared))
                    : make_sending_end(options_);
    });
    return Activity::Moved;
  }

 private:
  std::optional<SharedPackets> look() const {
    if (!may_share_) return std::nullopt;
    const SharedPacketSizes sizes = shared_sizes(options_);
    auto block = SharedBlock::open(said_->offer, SharedPackets::bytes(sizes));
    if (!block) return std::nullopt;
    return SharedPackets(std::move(*block), sizes, false);
  }
  bool begun_ = false, answered_ = false;
};

}  // namespace

std::unique_ptr<Channel> make_rank_sending_end(const RemoteEndOptions& options, bool may_share) {
  return std::make_unique<RankSendingEnd>(options, may_share);
}

std::unique_ptr<Channel> make_rank_receiving_end(const RemoteEndOptions& options, bool may_share) {
  return std::make_unique<RankReceivingEnd>(options, may_share);
}

}  // namespace pipetrain
