// The only file that includes MPI, and only its C interface.
#define OMPI_SKIP_MPICXX 1
#define MPICH_SKIP_MPICXX 1
#include <mpi.h>
#include <spdlog/fmt/fmt.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <limits>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "base/check.hpp"
#include "base/error.hpp"
#include "transport/wire.hpp"

namespace pipetrain {
namespace {

using std::chrono::steady_clock;

constexpr std::chrono::seconds longest_rest{10};

void require(int result, const char* call) {
  if (result == MPI_SUCCESS) return;
  std::array<char, MPI_MAX_ERROR_STRING> text{};
  int length = 0;
  MPI_Error_string(result, text.data(), &length);
  throw DeviceError(fmt::format("{} failed: {}", call,
                                std::string(text.data(), static_cast<std::size_t>(length))));
}

int count_of(std::size_t bytes) {
  if (bytes <= std::numeric_limits<int>::max()) return static_cast<int>(bytes);
  throw DeviceError(fmt::format(
      "a message of {} bytes is more than MPI carries at once; use more micro-batches", bytes));
}

class MpiWire final : public RankWire {
 public:
  MpiWire() {
    int provided = MPI_THREAD_SINGLE;
    require(MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &provided), "MPI_Init_thread");
    if (provided < MPI_THREAD_FUNNELED)
      throw DeviceError("this MPI has no support for programs with threads (MPI_THREAD_FUNNELED)");
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    require(MPI_Comm_dup(MPI_COMM_WORLD, &comm_), "MPI_Comm_dup");
    MPI_Comm_set_errhandler(comm_, MPI_ERRORS_RETURN);
    MPI_Comm_rank(comm_, &rank_);
    MPI_Comm_size(comm_, &size_);
  }

  int rank() const override { return rank_; }
  int size() const override { return size_; }

  Request send(int to, int tag, const std::byte* data, std::size_t bytes) override {
    MPI_Request request = MPI_REQUEST_NULL;
    require(MPI_Issend(data, count_of(bytes), MPI_BYTE, to, tag, comm_, &request), "MPI_Issend");
    return keep({request, -1});
  }
  Request receive(int from, int tag, std::byte* data, std::size_t bytes) override {
    MPI_Request request = MPI_REQUEST_NULL;
    require(MPI_Irecv(data, count_of(bytes), MPI_BYTE, from, tag, comm_, &request), "MPI_Irecv");
    return keep({request, from});
  }

  std::optional<std::size_t> done(Request request) override {
    int ended = 0;
    MPI_Status status;
    require(MPI_Test(&requests_.at(request).mpi, &ended, &status), "MPI_Test");
    if (!ended) return std::nullopt;
    free_.push_back(request);
    int bytes = 0;
    MPI_Get_count(&status, MPI_BYTE, &bytes);
    return bytes == MPI_UNDEFINED ? 0 : static_cast<std::size_t>(bytes);
  }

  void withdraw(Request receive) noexcept override {
    cancel(requests_[receive]);
    free_.push_back(receive);
  }

  // Receives stay open until no rank sends any more: a last sign of life must still find one.
  void finish() override {
    require(MPI_Barrier(comm_), "MPI_Barrier");
    for (Open& request : requests_)
      if (request.from >= 0 && request.mpi != MPI_REQUEST_NULL) cancel(request);
    MPI_Comm_free(&comm_);
    require(MPI_Finalize(), "MPI_Finalize");
  }

 private:
  struct Open {
    MPI_Request mpi = MPI_REQUEST_NULL;  // which it is again once it has ended
    int from = -1;                       // that rank's message; -1: one of this rank's own
  };
  Request keep(const Open& request) {
    if (free_.empty()) {
      requests_.push_back(request);
      return static_cast<Request>(requests_.size()) - 1;
    }
    const Request place = free_.back();
    free_.pop_back();
    requests_[place] = request;
    return place;
  }
  // A message of which a part has come cannot be cancelled, and MPI writes the rest whenever it
  // comes: if a rank was stopped there, only the end of this process keeps its memory safe.
  static void cancel(Open& receive) noexcept {
    MPI_Cancel(&receive.mpi);
    const auto latest = steady_clock::now() + longest_rest;
    int ended = 0;
    while (MPI_Test(&receive.mpi, &ended, MPI_STATUS_IGNORE) == MPI_SUCCESS && !ended) {
      if (steady_clock::now() > latest) give_up(receive.from);
      std::this_thread::sleep_for(std::chrono::microseconds(100));
    }
  }
  [[noreturn]] static void give_up(int from) noexcept {
    spdlog::error(
        "ends: rank {} has sent only a part of a message, and nothing for {} s: it was stopped, or "
        "its network is gone; run the same command again to resume",
        from, longest_rest.count());
    spdlog::default_logger()->flush();
    std::_Exit(static_cast<int>(ExitCode::Device));
  }

  MPI_Comm comm_ = MPI_COMM_NULL;
  int rank_ = 0, size_ = 1;
  std::vector<Open> requests_;
  std::vector<Request> free_;
};

}  // namespace

std::unique_ptr<RankWire> make_mpi_wire() { return std::make_unique<MpiWire>(); }

std::string mpi_version() {
  std::array<char, MPI_MAX_LIBRARY_VERSION_STRING> text{};
  int length = 0;
  MPI_Get_library_version(text.data(), &length);
  std::string name(text.data(), static_cast<std::size_t>(length));
  name.resize(std::min(name.find_first_of(",\n"), name.size()));
  // "MPICH Version:      4.0.2"
  const std::string_view between = " Version:";
  if (const auto at = name.find(between); at != std::string::npos)
    name.replace(at, name.find_first_of("0123456789", at) - at, " ");
  return name;
}

}  // namespace pipetrain
