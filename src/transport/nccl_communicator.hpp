// One NCCL communicator, and the watch over it: every wait here ends, either with what was waited
// for, with ChannelClosed, or with a DeviceError that says what was carried, with whom, and for how
// long.
//
// It has no thread of its own: a thread that waits, or asks whether it would have to, checks the
// communicator's error and the age of its oldest call. The first failure aborts the communicator,
// which also ends its kernels on the device; later calls throw that failure again.
//
// Threading: one thread at a time; close() from any.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>

#include "backend/stream.hpp"
#include "transport/id_exchange.hpp"
#include "transport/nccl_calls.hpp"

namespace pipetrain {

struct NcclMeeting {
  NcclCalls* calls = nullptr;
  IdExchange* ids = nullptr;
  Stream* stream = nullptr;  // on which the calls are enqueued
  std::string name;          // of the id: the same on all ranks, and unique
  std::string carries;       // for messages: "activations of boundary 0, lane 0, to rank 1"
  int rank = 0, ranks = 2;
  int ctas_max = 0;
  double seconds_max = 300;  // per wait
  // Have the ranks given up what they meet for? Every wait then ends with ChannelClosed.
  std::function<bool()> given_up = [] { return false; };
};

class NcclCommunicator {
 public:
  explicit NcclCommunicator(const NcclMeeting& meeting);  // waits for all ranks
  ~NcclCommunicator();  // finalizes, or aborts if something is under way
  NcclCommunicator(const NcclCommunicator&) = delete;
  NcclCommunicator& operator=(const NcclCommunicator&) = delete;

  // Issues one call, or a group of them: NcclState call(NcclCalls&, NcclCalls::Communicator).
  template <class Call>
  void issue(const Call& call) {
    half_way_ = true;
    require_whole();
    settle(call(*meeting_.calls, communicator_));
    half_way_ = false;
  }

  // Waits until the fence has passed. `since`: now_ns() when the work before it was issued.
  void wait(const Fence& fence, std::int64_t since);
  // Has the communicator failed, or the call issued at `since` taken too long? Never throws: the
  // next call does.
  bool broken(std::int64_t since) noexcept;
  // Call before releasing memory that the calls use. over(): has the fence that was recorded after
  // them passed? If not, or if a call failed before it or the communicator is already aborted,
  // aborts it and waits for a limited time, with `fence`, for all work on the stream. False: that
  // work does not end, or the device is gone; the memory must then not be released.
  bool ends(const std::function<bool()>& over, Fence& fence) noexcept;
  void require_whole() const;  // throws what closed or broke it

  void close() noexcept { closed_ = true; }
  bool is_closed() const { return closed_ || meeting_.given_up(); }
  void abort() noexcept;
  bool aborted() const { return aborted_; }

 private:
  void look(std::int64_t since);
  void settle(NcclState state);
  [[noreturn]] void fail(const std::string& why);
  [[noreturn]] void fail_late(std::int64_t since);

  const NcclMeeting meeting_;
  NcclCalls::Communicator communicator_ = nullptr;
  std::atomic<bool> closed_ = false;
  bool aborted_ = false;
  bool half_way_ = false;  // the last call failed, after other work for it was on the stream
  std::string failure_;
  std::int64_t looked_ns_ = 0;
};

}  // namespace pipetrain
