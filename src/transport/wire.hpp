// The few calls that carry bytes between the processes of one training (its ranks): the seam to
// MPI, so that all above it is tested without it.
//
// No call waits. Messages of one sender and one tag arrive in the order in which they were sent.
// Threading: one thread makes every call, from the construction to the end.
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

  // The memory is the wire's until done(). A send is done once its receive has begun: so a sender
  // is ahead of its receiver by no more messages than that one has receives.
  virtual Request send(int to, int tag, const std::byte* data, std::size_t bytes) = 0;
  // Of `bytes` at most; DeviceError from done() where more came.
  virtual Request receive(int from, int tag, std::byte* data, std::size_t bytes) = 0;
  // The bytes of the message once it is done, and the request is gone; nothing until then.
  // DeviceError.
  virtual std::optional<std::size_t> done(Request request) = 0;
  virtual void withdraw(Request receive) noexcept = 0;  // its memory is the caller's again
  // All ranks have nothing more to say: waits for them. Without it the wire is cut.
  virtual void finish() = 0;
};

using MakeRankWire = std::function<std::unique_ptr<RankWire>()>;

// Over MPI, between all processes that its launcher started. DeviceError; UsageError in a build
// without MPI. The thread that calls it is the wire's.
std::unique_ptr<RankWire> make_mpi_wire();
std::string mpi_version();  // "none"

}  // namespace pipetrain
