// The sum of a stage's gradients over its replicas in different processes: one group of calls for
// each mini-batch, in place.
//
//   compute    gradients ─> (ready) ─┐                           ┌─> update
//   transfer                         └> sum, sum, sum ─> (done) ─┘ host waits, with a limit
//
// Gives the same bits in every run and on every rank: NCCL's ring adds up each element in one
// order, which follows from the ranks' numbers, and passes the result around (nccl.cpp makes it use
// no other algorithm, unless NCCL_ALGO says so). Replicas in one process are added up in the order
// of their copies (Stream::add_up), which is another order: the two agree up to rounding, not in
// bits. The same holds between different numbers of ranks.
//
// All ranks must name the same buffers in the same order. Their sizes are compared when the ranks
// meet. One communicator per stage, separate from those of the channels (nccl_channel.hpp says what
// that requires of the streams).
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "backend/stream.hpp"
#include "transport/nccl_communicator.hpp"

namespace pipetrain {

struct GradientBuffer {
  float* values = nullptr;
  std::int64_t elements = 0;
};

struct NcclAllReduceOptions {
  NcclCalls* calls = nullptr;
  IdExchange* ids = nullptr;
  Stream* compute = nullptr;        // writes and reads the gradients
  Stream* transfer = nullptr;       // used by the sums only
  void* transfer_handle = nullptr;  // the device's own handle of `transfer`
  int stage = 0;
  int replica = 0, replicas = 1;
  std::vector<GradientBuffer> buffers;
  double seconds_max = 300;
  std::function<bool()> given_up = [] { return false; };  // NcclMeeting::given_up
};

// Threading: one thread; close() from any. After close() or a failure, begin() and finish() throw.
class NcclAllReduce {
 public:
  explicit NcclAllReduce(const NcclAllReduceOptions& options);  // waits for the other replicas
  ~NcclAllReduce();

  void begin();             // after all work enqueued on the compute stream; does not wait
  bool can_finish() const;  // would finish() wait?
  void finish();            // the compute stream continues with the sums
  void close() noexcept { communicator_.close(); }
  void abandon() noexcept { communicator_.abort(); }  // after a failure, when no thread uses it

 private:
  void issue(std::span<const GradientBuffer> buffers);
  void meet();
  bool ended() noexcept;  // see NcclCommunicator::ends()

  const std::vector<GradientBuffer> buffers_;
  const int replicas_;
  Stream &compute_, &transfer_;
  void* const handle_;
  mutable NcclCommunicator communicator_;
  std::unique_ptr<Fence> ready_, done_;
  std::int64_t issued_ns_ = 0;
  bool begun_ = false;
};

}  // namespace pipetrain
