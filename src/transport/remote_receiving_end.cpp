// The receiving end of a remote channel: remote_channel.hpp.
#include <span>

#include "base/check.hpp"
#include "transport/remote_end.hpp"

namespace pipetrain {
namespace {

class RemoteReceivingEnd final : public RemoteEnd {
 public:
  explicit RemoteReceivingEnd(const RemoteEndOptions& options) : RemoteEnd(options) {
    for (HeadedPacket& headed : packets_) free_.push_back(&headed.packet);
    options_.wire_thread->add(*this);
  }
  ~RemoteReceivingEnd() override { options_.wire_thread->remove(*this); }

  Packet* receive() override { return take(arrived_); }
  void release(Packet* packet) override {
    {
      const std::lock_guard lock(mutex_);
      free_.push_back(packet);
    }
    options_.wire_thread->wake();
  }
  bool can_receive() const override { return has(arrived_); }

  Packet* acquire() override { PIPETRAIN_CHECK(false, "a receiving end sends nothing"); }
  void retain(Packet*) override { PIPETRAIN_CHECK(false, "a receiving end sends nothing"); }
  void send(Packet*) override { PIPETRAIN_CHECK(false, "a receiving end sends nothing"); }
  void forget(Packet*) override { PIPETRAIN_CHECK(false, "a receiving end sends nothing"); }
  bool can_acquire() const override { return false; }

  Activity poll(RankWire& wire) override {
    bool moved = false;
    {
      const std::lock_guard lock(mutex_);
      for (; !free_.empty(); free_.pop_front(), moved = true) begin(wire, headed(free_.front()));
      while (!coming_.empty() && has_come(wire, *coming_.front())) {
        read(*coming_.front());
        arrived_.push_back(&coming_.front()->packet);
        coming_.pop_front();
        moved = true;
      }
    }
    if (moved) changed_.notify_all();
    return moved ? Activity::Moved : Activity::None;
  }
  void withdraw(RankWire& wire) noexcept override {
    const std::lock_guard lock(mutex_);
    for (HeadedPacket& headed : packets_)
      for (RankWire::Request* request : {&headed.head_request, &headed.data_request})
        if (*request >= 0) {
          wire.withdraw(*request);
          *request = -1;
        }
  }

 private:
  void begin(RankWire& wire, HeadedPacket& headed) {
    headed.head_request =
        wire.receive(options_.peer, options_.tag, headed.head.data(), headed.head.size());
    headed.data_request =
        wire.receive(options_.peer, options_.tag + 1, headed.packet.data, options_.packet_bytes);
    coming_.push_back(&headed);
  }
  static bool ended(RankWire& wire, RankWire::Request& request, std::size_t& bytes) {
    if (request < 0) return true;
    const auto came = wire.done(request);
    if (!came) return false;
    bytes = *came;
    request = -1;
    return true;
  }
  static bool has_come(RankWire& wire, HeadedPacket& headed) {
    const bool head = ended(wire, headed.head_request, headed.head_bytes);
    return ended(wire, headed.data_request, headed.data_bytes) && head;
  }

  void read(HeadedPacket& headed) const {
    read_head(std::span(headed.head).first(headed.head_bytes), limits_, headed.data_bytes,
              options_.peer, headed.packet);
  }

  std::deque<Packet*> free_, arrived_;
  std::deque<HeadedPacket*> coming_;
};

}  // namespace

std::unique_ptr<Channel> make_receiving_end(const RemoteEndOptions& options) {
  return std::make_unique<RemoteReceivingEnd>(options);
}

}  // namespace pipetrain
