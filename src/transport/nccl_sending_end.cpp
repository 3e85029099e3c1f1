// The sending end: a packet is free, then belongs to the stage, is then in flight, and is free
// again once it has been sent and is no longer read.
#include "base/check.hpp"
#include "transport/nccl_end.hpp"

namespace pipetrain {
namespace {

class SendingEnd final : public NcclEnd {
 public:
  explicit SendingEnd(const NcclChannelOptions& options)
      : NcclEnd(options, 0), free_(slots_.size()), under_way_(slots_.size()) {
    for (Slot& slot : slots_) free_.push(&slot);
    greet();
  }
  ~SendingEnd() override {  // what was sent still arrives, unless the run is over anyway
    try {
      while (!communicator_.is_closed() && !communicator_.aborted() && !under_way_.empty()) {
        const Slot& slot = *under_way_.pop();
        communicator_.wait(*slot.moved, slot.issued_ns);
      }
    } catch (const std::exception&) {
      communicator_.abort();
    }
  }

  Packet* acquire() override {
    communicator_.require_whole();
    collect();
    while (free_.empty()) {
      PIPETRAIN_CHECK(!under_way_.empty(), "the sender holds every packet of its channel");
      communicator_.wait(*under_way_.front()->moved, under_way_.front()->issued_ns);
      collect();
    }
    Packet* const packet = &free_.pop()->packet;
    packet->holders = 1;
    return packet;
  }

  void send(Packet* packet) override {
    communicator_.require_whole();
    Slot& slot = slot_of(packet);
    write_header(slot.header, shape_, sequence_, *packet);
    compute_.record(*slot.computed);
    transfer_.wait(*slot.computed);
    copy_out(slot, shape_.header_offset(), shape_.header_bytes());
    send_message(slot, shape_.bytes());
    record_moved(slot);
    under_way_.push(&slot);
    ++sequence_;
  }

  void forget(Packet* packet) override { let_go(packet); }

  void settle() override {
    while (!under_way_.empty()) {
      Slot& slot = *under_way_.front();
      communicator_.wait(*slot.moved, slot.issued_ns);
      compute_.wait(*slot.moved);  // has already passed; this tells the device
      let_go(&under_way_.pop()->packet);
    }
  }

  void release(Packet*) override { PIPETRAIN_CHECK(false, "a release at the sending end"); }
  Packet* receive() override { PIPETRAIN_CHECK(false, "a receive at the sending end"); }
  bool can_receive() const override { return false; }

  // Checks what has been sent, which changes nothing visible from outside.
  bool can_acquire() const override { return const_cast<SendingEnd*>(this)->has_free(); }

 private:
  bool has_free() {
    if (communicator_.is_closed() || communicator_.aborted()) return true;  // acquire() throws
    collect();
    if (!free_.empty() || under_way_.empty()) return !free_.empty();
    return communicator_.broken(under_way_.front()->issued_ns);
  }

  void let_go(Packet* packet) {
    PIPETRAIN_CHECK(packet->holders > 0, "a packet is forgotten more often than held");
    if (--packet->holders == 0) free_.push(&slot_of(packet));
  }

  void collect() {
    while (!under_way_.empty() && under_way_.front()->moved->passed())
      let_go(&under_way_.pop()->packet);
  }

  void greet() {
    Slot& slot = slots_.front();
    write_greeting(slot.header, shape_);
    copy_out(slot, 0, greeting_bytes);
    send_message(slot, greeting_bytes);
    record_moved(slot);
    communicator_.wait(*slot.moved, slot.issued_ns);
  }

  SlotQueue<Slot> free_, under_way_;
  std::uint64_t sequence_ = 0;
};

}  // namespace

std::unique_ptr<NcclChannel> make_nccl_sender(const NcclChannelOptions& options) {
  return std::make_unique<SendingEnd>(options);
}

}  // namespace pipetrain
