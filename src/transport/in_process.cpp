// Channels between threads of one process: packets change owners, their bytes are not moved.
#include <atomic>
#include <condition_variable>
#include <mutex>

#include "base/check.hpp"
#include "base/clock.hpp"
#include "transport/channel.hpp"

namespace pipetrain {
namespace {

// A queue of packets with room for all of them, so that it allocates nothing after construction.
class Ring {
 public:
  explicit Ring(std::size_t capacity) : items_(capacity) {}
  bool empty() const { return count_ == 0; }
  void push(Packet* packet) { items_[(first_ + count_++) % items_.size()] = packet; }
  Packet* pop() {
    Packet* const packet = items_[first_];
    first_ = (first_ + 1) % items_.size();
    --count_;
    return packet;
  }

 private:
  std::vector<Packet*> items_;
  std::size_t first_ = 0, count_ = 0;
};

class InProcessChannel final : public Channel {
 public:
  explicit InProcessChannel(const ChannelOptions& options)
      : packets_(options.packets.size()),
        free_(options.packets.size()),
        sent_(options.packets.size()),
        spins_(options.spin) {
    PIPETRAIN_CHECK(!packets_.empty(), "a channel needs packets");
    for (std::size_t i = 0; i < packets_.size(); ++i) {
      packets_[i].index = static_cast<int>(i);
      packets_[i].data = options.packets[i];
      packets_[i].ids.reserve(options.samples);
      free_.push(&packets_[i]);
    }
    free_count_ = static_cast<int>(packets_.size());
  }

  Packet* acquire() override {
    Packet* const packet = take(free_, free_count_);
    packet->holders = 1;
    return packet;
  }
  Packet* receive() override { return take(sent_, sent_count_); }

  void send(Packet* packet) override { put(sent_, sent_count_, packet); }

  void retain(Packet* packet) override {
    const std::lock_guard lock(mutex_);
    ++packet->holders;
  }
  void release(Packet* packet) override {
    {
      const std::lock_guard lock(mutex_);
      PIPETRAIN_CHECK(packet->holders > 0, "a packet is released more often than held");
      if (--packet->holders > 0) return;
      free_.push(packet);
      ++free_count_;
    }
    changed_.notify_all();
  }

  void forget(Packet* packet) override { release(packet); }

  bool can_acquire() const override { return free_count_ > 0 || closed_; }
  bool can_receive() const override { return sent_count_ > 0 || closed_; }

  void close() noexcept override {
    {
      const std::lock_guard lock(mutex_);
      closed_ = true;
    }
    changed_.notify_all();
  }

 private:
  // A thread that sleeps takes tens of microseconds to wake, and more in a virtual machine, so only
  // one that waits for long does.
  void spin_until_some(const std::atomic<int>& count) const {
    constexpr std::int64_t longest_ns = 2'000'000;
    constexpr int between_looks_at_the_clock = 16;
    const std::int64_t end = now_ns() + longest_ns;
    while (now_ns() < end)
      for (int i = 0; i < between_looks_at_the_clock; ++i) {
        if (count > 0 || closed_) return;
        __builtin_ia32_pause();
      }
  }
  Packet* take(Ring& ring, std::atomic<int>& count) {
    if (spins_ && count == 0) spin_until_some(count);
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return !ring.empty() || closed_; });
    if (closed_) throw ChannelClosed();
    --count;
    return ring.pop();
  }
  void put(Ring& ring, std::atomic<int>& count, Packet* packet) {
    {
      const std::lock_guard lock(mutex_);
      if (closed_) throw ChannelClosed();
      ring.push(packet);
      ++count;
    }
    changed_.notify_all();
  }

  std::vector<Packet> packets_;
  Ring free_, sent_;
  std::atomic<int> free_count_ = 0, sent_count_ = 0;  // for looks without the lock
  std::atomic<bool> closed_ = false;
  const bool spins_;
  std::mutex mutex_;
  std::condition_variable changed_;
};

}  // namespace

std::unique_ptr<Channel> make_in_process_channel(const ChannelOptions& options) {
  return std::make_unique<InProcessChannel>(options);
}

}  // namespace pipetrain
