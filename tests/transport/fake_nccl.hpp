// NCCL's rules without NCCL. Calls of a communicator are carried out in the order in which they
// were issued, each at its place in its stream; a send and its receive end together, once both have
// begun (rendezvous); a sum ends once all ranks have begun theirs; what is in a group begins
// together.
#pragma once

#include <condition_variable>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "fake_device.hpp"
#include "transport/id_exchange.hpp"
#include "transport/nccl_calls.hpp"

namespace fake {

using pipetrain::NcclState;

// Processes of one test, which are threads.
class MemoryExchange final : public pipetrain::IdExchange {
 public:
  void give(const std::string& name, std::span<const std::byte> blob) override;
  std::vector<std::byte> take(const std::string& name) override;
  void withdraw(const std::string& name) noexcept override;

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::string, std::vector<std::byte>> blobs_;
};

struct Part {  // one call
  enum class Kind { Send, Receive, Sum } kind;
  void* data = nullptr;
  std::size_t bytes = 0;
  int peer = 0;
  bool done = false;
};

struct Group {  // calls that begin together
  std::vector<std::shared_ptr<Part>> parts;
  bool begun = false;
};

// What one rank has issued and not ended, in order.
using Line = std::deque<std::shared_ptr<Group>>;

class Nccl final : public pipetrain::NcclCalls {
 public:
  explicit Nccl(Device& device);
  ~Nccl() override;

  // Two processes then have one communicator for all that they exchange, whatever the kind.
  bool one_communicator_per_pair = false;
  bool abort_is_noticed = false;  // by the other ranks

  // The calling thread is that process from now on. (A variable to set would be one of GCC's false
  // alarms: it tests a thread's variable in another file for null by a flag that its linker loses.)
  static void play(int process);

  std::vector<const FakeStream*> joined_on;  // Device::current of the threads that joined

  void break_all(const std::string& why);  // every communicator has an error from now on
  int alive() const { return alive_; }     // communicators neither destroyed nor aborted
  int aborted() const { return aborted_; }

  pipetrain::NcclId make_id() override;
  NcclState join(Communicator& communicator, const pipetrain::NcclJoin& join) override;
  NcclState send(Communicator c, const void* data, std::size_t bytes, int to,
                 void* stream) override;
  NcclState receive(Communicator c, void* data, std::size_t bytes, int from, void* stream) override;
  NcclState sum(Communicator c, float* values, std::int64_t elements, void* stream) override;
  NcclState begin_group() override;
  NcclState end_group() override;
  NcclState state(Communicator c) override;
  NcclState finalize(Communicator c) override;
  void destroy(Communicator c) noexcept override;
  void abort(Communicator c) noexcept override;
  std::string reason(Communicator c) override;

 private:
  struct Clique;
  struct Rank;
  struct Open {  // the calling thread's group
    int depth = 0;
    Rank* rank = nullptr;
    FakeStream* stream = nullptr;
    std::shared_ptr<Group> group;
  };
  static thread_local Open open_;
  static thread_local int process_;

  NcclState add(Communicator c, Part part, void* stream);
  void issue(Rank& rank, std::shared_ptr<Group> group, FakeStream& stream);
  bool carry_out(Rank& rank, const std::shared_ptr<Group>& group);
  static Rank* rank_of(Communicator c) { return static_cast<Rank*>(c); }

  Device& device_;
  std::map<pipetrain::NcclId, std::shared_ptr<Clique>> cliques_;
  std::map<std::vector<int>, std::vector<std::shared_ptr<Line>>> lines_;  // of pairs
  std::vector<std::unique_ptr<Rank>> ranks_;
  int ids_ = 0, alive_ = 0, aborted_ = 0;
};

}  // namespace fake
