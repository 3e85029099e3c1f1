// The few NCCL calls that the transport makes, so that everything above them can be tested without
// NCCL: nccl.cpp makes the real ones, tests have a fake whose sends and receives meet.
//
// No call waits. After a call that returns Working, state() says when it is done; until then the
// communicator may not be used for anything else, nor the stream for what depends on the call.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace pipetrain {

using NcclId = std::array<std::byte, 128>;

enum class NcclState { Done, Working, Failed };

struct NcclJoin {
  NcclId id = {};  // the same for all ranks that meet
  int rank = 0, ranks = 1;
  int ctas_max = 0;  // at most this many thread blocks per call; 0: NCCL's own choice
};

// Streams are the device's own handles (cudaStream_t), memory is device memory. Threading: one
// thread at a time per communicator.
class NcclCalls {
 public:
  using Communicator = void*;

  virtual ~NcclCalls() = default;
  virtual NcclId make_id() = 0;  // DeviceError
  virtual NcclState join(Communicator& communicator, const NcclJoin& join) = 0;
  virtual NcclState send(Communicator communicator, const void* data, std::size_t bytes, int to,
                         void* stream) = 0;
  virtual NcclState receive(Communicator communicator, void* data, std::size_t bytes, int from,
                            void* stream) = 0;
  // values[i] = the sum of all ranks' values[i], in f32, in place.
  virtual NcclState sum(Communicator communicator, float* values, std::int64_t elements,
                        void* stream) = 0;
  // For the calling thread: calls between begin_group() and end_group() begin together.
  virtual NcclState begin_group() = 0;
  virtual NcclState end_group() = 0;
  // Failed also if something has gone wrong since, for instance a peer that is gone.
  virtual NcclState state(Communicator communicator) = 0;
  virtual NcclState finalize(Communicator communicator) = 0;  // before destroy(): delivers all
  virtual void destroy(Communicator communicator) noexcept = 0;
  // Ends what is in flight, on the device too, and destroys the communicator.
  virtual void abort(Communicator communicator) noexcept = 0;
  // Why the last call failed. Null: a communicator that could not be made.
  virtual std::string reason(Communicator communicator) = 0;
};

// DeviceError, which says what is missing, in a build without NCCL.
std::unique_ptr<NcclCalls> make_nccl_calls();
std::string nccl_version();  // "none" without NCCL

}  // namespace pipetrain
