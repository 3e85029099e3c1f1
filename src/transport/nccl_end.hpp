// What both ends of an NCCL channel share: packets, a communicator, and host memory from which the
// device reads headers, or to which it writes them.
#pragma once

#include <cstdint>
#include <vector>

#include "transport/nccl_channel.hpp"
#include "transport/nccl_communicator.hpp"
#include "transport/nccl_message.hpp"

namespace pipetrain {

class NcclEnd : public NcclChannel {
 public:
  void close() noexcept override { communicator_.close(); }
  void abandon() noexcept override { communicator_.abort(); }
  void retain(Packet* packet) override;

 protected:
  struct Slot {
    Packet packet;
    std::byte* header = nullptr;      // in host memory
    std::unique_ptr<Fence> computed;  // the compute stream has written, or read, the packet
    std::unique_ptr<Fence> moved;     // the packet was sent, or has arrived, with its header
    std::int64_t issued_ns = 0;
  };

  NcclEnd(const NcclChannelOptions& options, int rank);
  ~NcclEnd() override;

  Slot& slot_of(const Packet* packet);
  void send_message(Slot& slot, std::size_t bytes);
  void receive_message(Slot& slot, std::size_t bytes);
  void copy_out(Slot& slot, std::size_t at, std::size_t bytes);  // header to the packet
  void copy_in(Slot& slot, std::size_t at, std::size_t bytes);   // the reverse
  void record_moved(Slot& slot);

  const MessageShape shape_;
  Stream& compute_;
  Stream& transfer_;
  void* const handle_;
  NcclCommunicator communicator_;
  std::vector<Slot> slots_;

 private:
  std::byte* headers_ = nullptr;
};

// A queue of slots, with room for all of them.
template <class T>
class SlotQueue {
 public:
  explicit SlotQueue(std::size_t capacity) : items_(capacity) {}
  bool empty() const { return count_ == 0; }
  std::size_t size() const { return count_; }
  T* front() const { return items_[first_]; }
  void push(T* item) { items_[(first_ + count_++) % items_.size()] = item; }
  T* pop() {
    T* const item = items_[first_];
    first_ = (first_ + 1) % items_.size();
    --count_;
    return item;
  }

 private:
  std::vector<T*> items_;
  std::size_t first_ = 0, count_ = 0;
};

}  // namespace pipetrain
