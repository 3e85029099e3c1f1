// The few calls that carry bytes between the processes of one training (its ranks): the seam to
// MPI, so that everything above it can be tested without MPI.
//
// No call waits. Messages with the same sender and tag arrive in the order in which they were sent.
// Threading: one thread makes every call, from construction to destruction.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>

namespace pipetrain {

class RankWire {
 public:
  using Request = int;

  virtual ~RankWire() = default;
  virtual int rank() const = 0;
  virtual int size() const = 0;

  // The memory belongs to the wire until done(). A send is done once its receive has begun: so a
  // sender can be ahead of its receiver by no more messages than the receiver has posted receives.
  virtual Request send(int to, int tag, const std::byte* data, std::size_t bytes) = 0;
  // A message of at most `bytes`; done() throws DeviceError if it is longer.
  virtual Request receive(int from, int tag, std::byte* data, std::size_t bytes) = 0;
  // The size of the message in bytes once the request is done, which is then gone; nothing until
  // then. DeviceError.
  virtual std::optional<std::size_t> done(Request request) = 0;
  virtual void withdraw(Request receive) noexcept = 0;  // the caller gets its memory back
  // Waits until all ranks have called it, with nothing more to send. Without it the wire is cut.
  virtual void finish() = 0;
};

using MakeRankWire = std::function<std::unique_ptr<RankWire>()>;

// Over MPI, between all processes that its launcher started. DeviceError; UsageError in a build
// without MPI. Afterwards only the calling thread may use the wire.
std::unique_ptr<RankWire> make_mpi_wire();
std::string mpi_version();  // "none" without MPI

}  // namespace pipetrain
