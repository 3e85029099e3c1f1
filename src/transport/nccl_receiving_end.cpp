// The receiving end: a packet is free, is then filled by the transfer, then belongs to the stage.
// It is filled again only after the compute stream has finished reading it.
#include "base/check.hpp"
#include "base/error.hpp"
#include "transport/nccl_end.hpp"

namespace pipetrain {
namespace {

class ReceivingEnd final : public NcclEnd {
 public:
  explicit ReceivingEnd(const NcclChannelOptions& options)
      : NcclEnd(options, 1), free_(slots_.size()), begun_(slots_.size()) {
    for (Slot& slot : slots_) free_.push(&slot);
    be_greeted();
  }

  void expect() override {
    communicator_.require_whole();
    ++wanted_;
    begin_wanted();
  }

  Packet* receive() override {
    communicator_.require_whole();
    if (wanted_ == 0) expect();
    PIPETRAIN_CHECK(!begun_.empty(), "the receiver holds every packet of its channel");
    Slot& slot = *begun_.front();
    communicator_.wait(*slot.moved, slot.issued_ns);
    begun_.pop();
    --wanted_;
    read_header(slot.header, shape_, sequence_++, slot.packet);
    compute_.wait(*slot.moved);  // has already passed; this tells the device
    slot.packet.holders = 1;
    return &slot.packet;
  }

  void release(Packet* packet) override {
    PIPETRAIN_CHECK(packet->holders > 0, "a packet is released more often than held");
    if (--packet->holders > 0) return;
    Slot& slot = slot_of(packet);
    compute_.record(*slot.computed);
    free_.push(&slot);
    if (!communicator_.is_closed() && !communicator_.aborted()) begin_wanted();
  }

  void forget(Packet*) override { PIPETRAIN_CHECK(false, "a forget at the receiving end"); }
  Packet* acquire() override { PIPETRAIN_CHECK(false, "an acquire at the receiving end"); }
  void send(Packet*) override { PIPETRAIN_CHECK(false, "a send at the receiving end"); }
  bool can_acquire() const override { return false; }

  // Asking announces a receive(): its transfer begins.
  bool can_receive() const override { return const_cast<ReceivingEnd*>(this)->has_arrived(); }

 private:
  bool has_arrived() {
    if (communicator_.is_closed() || communicator_.aborted()) return true;  // receive() throws
    try {
      if (wanted_ == 0) expect();
      if (begun_.empty()) return false;
      if (begun_.front()->moved->passed()) return true;
    } catch (const Error&) {
      return true;  // thrown again by receive()
    }
    return communicator_.broken(begun_.front()->issued_ns);
  }

  void begin_wanted() {
    while (begun_.size() < wanted_ && !free_.empty()) begin(*free_.pop());
  }

  void begin(Slot& slot) {
    begun_.push(&slot);
    transfer_.wait(*slot.computed);
    receive_message(slot, shape_.bytes());
    copy_in(slot, shape_.header_offset(), shape_.header_bytes());
    record_moved(slot);
  }

  void be_greeted() {
    Slot& slot = slots_.front();
    receive_message(slot, greeting_bytes);
    copy_in(slot, 0, greeting_bytes);
    record_moved(slot);
    communicator_.wait(*slot.moved, slot.issued_ns);
    check_greeting(slot.header, shape_);
  }

  SlotQueue<Slot> free_, begun_;
  std::size_t wanted_ = 0;  // receives that are announced, not yet made
  std::uint64_t sequence_ = 0;
};

}  // namespace

std::unique_ptr<NcclChannel> make_nccl_receiver(const NcclChannelOptions& options) {
  return std::make_unique<ReceivingEnd>(options);
}

}  // namespace pipetrain
