// The only file that sees NCCL. Communicators are non-blocking: a peer that never comes is noticed
// by a thread that polls, not by a call that hangs.
#include <nccl.h>

#include <cstdlib>
#include <cstring>
#include <mutex>

#include "base/check.hpp"
#include "base/error.hpp"
#include "transport/nccl_calls.hpp"

namespace pipetrain {
namespace {

static_assert(sizeof(ncclUniqueId) == sizeof(NcclId));

ncclComm_t comm(NcclCalls::Communicator communicator) {
  return static_cast<ncclComm_t>(communicator);
}
cudaStream_t stream_of(void* handle) { return static_cast<cudaStream_t>(handle); }

// What NCCL reads in its environment alone, once, when the first id or communicator is made.
//
// Sums are the same bits from run to run only by the same algorithm: a ring adds up in an order
// that rank and size alone decide; what the user set there is kept. Calls have to come back at
// once: the environment goes before what config_of says, and, set here, before NCCL's own files.
void prepare_environment() {
  static std::once_flag once;
  std::call_once(once, [] {
    const char* const blocking = std::getenv("NCCL_COMM_BLOCKING");
    if (blocking && std::strcmp(blocking, "0") != 0)
      throw DeviceError(
          fmt::format("NCCL_COMM_BLOCKING={} is set, with which a call of NCCL waits forever for a "
                      "process that never comes; unset it",
                      blocking));
    ::setenv("NCCL_COMM_BLOCKING", "0", 0);
    ::setenv("NCCL_ALGO", "Ring", 0);
    ::setenv("NCCL_PROTO", "Simple", 0);
  });
}

ncclConfig_t config_of(const NcclJoin& join) {
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  config.blocking = 0;
  config.collnetEnable = 0;  // switches that add up have an order of their own
  if (join.ctas_max > 0) {
    config.minCTAs = 1;
    config.maxCTAs = join.ctas_max;
  }
  return config;
}

class Nccl final : public NcclCalls {
 public:
  NcclId make_id() override {
    prepare_environment();
    ncclUniqueId id;
    if (ncclGetUniqueId(&id) != ncclSuccess)
      throw DeviceError(fmt::format("NCCL cannot make an id: {}", reason(nullptr)));
    NcclId bytes;
    std::memcpy(bytes.data(), &id, sizeof id);
    return bytes;
  }

  NcclState join(Communicator& communicator, const NcclJoin& join) override {
    prepare_environment();
    ncclUniqueId id;
    std::memcpy(&id, join.id.data(), sizeof id);
    ncclConfig_t config = config_of(join);
    // A thread of NCCL's may write the communicator after the call: to the caller's own place.
    static_assert(sizeof(ncclComm_t) == sizeof(Communicator));
    return kept(ncclCommInitRankConfig(reinterpret_cast<ncclComm_t*>(&communicator), join.ranks, id,
                                       join.rank, &config));
  }

  NcclState send(Communicator communicator, const void* data, std::size_t bytes, int to,
                 void* stream) override {
    return kept(ncclSend(data, bytes, ncclUint8, to, comm(communicator), stream_of(stream)));
  }
  NcclState receive(Communicator communicator, void* data, std::size_t bytes, int from,
                    void* stream) override {
    return kept(ncclRecv(data, bytes, ncclUint8, from, comm(communicator), stream_of(stream)));
  }
  NcclState sum(Communicator communicator, float* values, std::int64_t elements,
                void* stream) override {
    return kept(ncclAllReduce(values, values, static_cast<std::size_t>(elements), ncclFloat32,
                              ncclSum, comm(communicator), stream_of(stream)));
  }
  NcclState begin_group() override { return kept(ncclGroupStart()); }
  NcclState end_group() override { return kept(ncclGroupEnd()); }

  NcclState state(Communicator communicator) override {
    ncclResult_t found = ncclSuccess;
    const ncclResult_t asked = ncclCommGetAsyncError(comm(communicator), &found);
    return kept(asked != ncclSuccess ? asked : found);
  }
  NcclState finalize(Communicator communicator) override {
    return kept(ncclCommFinalize(comm(communicator)));
  }
  void destroy(Communicator communicator) noexcept override { ncclCommDestroy(comm(communicator)); }
  void abort(Communicator communicator) noexcept override { ncclCommAbort(comm(communicator)); }

  std::string reason(Communicator communicator) override {
    const char* const words = ncclGetLastError(comm(communicator));
    const std::string code = ncclGetErrorString(last_);
    return words && *words ? fmt::format("{} ({})", code, words) : code;
  }

 private:
  // Per thread: communicators of one process may be driven by several.
  static NcclState kept(ncclResult_t result) {
    if (result == ncclSuccess) return NcclState::Done;
    if (result == ncclInProgress) return NcclState::Working;
    last_ = result;
    return NcclState::Failed;
  }
  static thread_local ncclResult_t last_;
};

thread_local ncclResult_t Nccl::last_ = ncclSuccess;

}  // namespace

std::unique_ptr<NcclCalls> make_nccl_calls() { return std::make_unique<Nccl>(); }

std::string nccl_version() {
  int version = 0;
  if (ncclGetVersion(&version) != ncclSuccess) return "unknown";
  return fmt::format("{}.{}.{}", version / 10000, version / 100 % 100, version % 100);
}

}  // namespace pipetrain
