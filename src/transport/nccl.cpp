// The only file that includes NCCL. Communicators are non-blocking: a thread that polls notices a
// peer that never comes, where a blocking call would hang.
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

// Settings that NCCL reads only from the environment, once, when the first id or communicator is
// made.
//
// Sums have the same bits in every run only with one algorithm: a ring adds up in an order that
// depends on rank and size alone; a value that the user has set is kept. Calls must return at once:
// the environment takes precedence over config_of() and, as set here, over NCCL's own files.
void prepare_environment() {
  static std::once_flag once;
  std::call_once(once, [] {
    const char* const blocking = std::getenv("NCCL_COMM_BLOCKING");
    if (blocking && std::strcmp(blocking, "0") != 0)
      throw DeviceError(
          fmt::format("NCCL_COMM_BLOCKING={} is set, which makes a call of NCCL wait forever for a "
                      "process that never arrives; unset it",
                      blocking));
    ::setenv("NCCL_COMM_BLOCKING", "0", 0);
    ::setenv("NCCL_ALGO", "Ring", 0);
    ::setenv("NCCL_PROTO", "Simple", 0);
  });
}

ncclConfig_t config_of(const NcclJoin& join) {
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  config.blocking = 0;
  config.collnetEnable = 0;  // switches that add up use an order of their own
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
    // An NCCL thread may write the communicator after the call: so let it write to the caller's
    // variable.
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
  // Per thread: several threads may drive communicators of one process.
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
