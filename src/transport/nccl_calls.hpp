// The few calls of NCCL that the transport makes, so that all that is above them is tested
// without it: nccl.cpp makes them, tests have a fake one whose sends and receives meet.
//
// No call waits. Where one answers Working, state() says when it is done; until then nothing else
// may be asked of the communicator, nor of the stream what depends on the call.
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
  NcclId id = {};  // the same for all that meet
  int rank = 0, ranks = 1;
  int ctas_max = 0;  // thread blocks of a call, at most; 0: NCCL's own choice
};

// Streams are the device's own handles (cudaStream_t), memory is the device's. Threading: each
// communicator by one thread at a time.
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
  // Of the calling thread: calls between the two begin together.
  virtual NcclState begin_group() = 0;
  virtual NcclState end_group() = 0;
  // Failed also where something went wrong since, a peer that is gone for one.
  virtual NcclState state(Communicator communicator) = 0;
  virtual NcclState finalize(Communicator communicator) = 0;  // before destroy(): all is delivered
  virtual void destroy(Communicator communicator) noexcept = 0;
  // Ends what is in flight, on the device too, and destroys.
  virtual void abort(Communicator communicator) noexcept = 0;
  // Why the last call failed; of a communicator that could not be made: null.
  virtual std::string reason(Communicator communicator) = 0;
};

// DeviceError, with what is missing, in a build without NCCL.
std::unique_ptr<NcclCalls> make_nccl_calls();
std::string nccl_version();  // "none"

}  // namespace pipetrain
