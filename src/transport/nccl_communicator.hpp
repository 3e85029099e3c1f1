// One communicator of NCCL, and the watch over it: every wait here ends, with what was waited for,
// with ChannelClosed, or with a DeviceError that names what was carried, with whom, for how long.
//
// It has no thread of its own: a thread that waits, or asks whether it would have to, looks at the
// communicator's error and at the age of its oldest call. The first failure aborts the
// communicator, which ends its kernels on the device too, and is what later calls throw again.
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
  Stream* stream = nullptr;  // that the calls are put on
  std::string name;          // of the id: the same at all ranks, and nobody else's
  std::string carries;       // for messages: "activations of boundary 0, lane 0, to rank 1"
  int rank = 0, ranks = 2;
  int ctas_max = 0;
  double seconds_max = 300;  // for every wait
};

class NcclCommunicator {
 public:
  explicit NcclCommunicator(const NcclMeeting& meeting);  // waits until all ranks are there
  ~NcclCommunicator();  // finalizes, or aborts where something is under way
  NcclCommunicator(const NcclCommunicator&) = delete;
  NcclCommunicator& operator=(const NcclCommunicator&) = delete;

  // One call, or a group of them: NcclState call(NcclCalls&, NcclCalls::Communicator).
  template <class Call>
  void issue(const Call& call) {
    require_whole();
    settle(call(*meeting_.calls, communicator_));
  }

  // Until the fence has passed. `since`: now_ns() when what is before it was issued.
  void wait(const Fence& fence, std::int64_t since);
  // Is there a failure, or has the call issued at `since` taken too long? Never throws: the next
  // call does.
  bool broken(std::int64_t since) noexcept;
  // Before memory that the calls use is given back. `over`: has passed what was recorded after
  // them? Where it has not, or the communicator is aborted already, aborts, and waits a while, with
  // `fence`, for all that the stream was asked for. False: it does not end, or the device is gone;
  // then the memory is to be left to it.
  bool ends(const std::function<bool()>& over, Fence& fence) noexcept;
  void require_whole() const;  // throws what closed or broke it

  void close() noexcept { closed_ = true; }
  bool is_closed() const { return closed_; }
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
  std::string failure_;
  std::int64_t looked_ns_ = 0;
};

}  // namespace pipetrain
