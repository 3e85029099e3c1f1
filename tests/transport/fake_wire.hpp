// Ranks in one process: what one sends is copied to the rank that has begun to receive it, in
// order. A rank can be cut off, as by a network that fails. What is sent to a rank whose wire is
// gone is lost, and counts as sent, as a short message does that MPI has buffered.
#pragma once

#include <atomic>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <tuple>
#include <vector>

#include "transport/wire.hpp"

namespace pipetrain::testing {

class FakeNetwork {
 public:
  explicit FakeNetwork(int ranks)
      : ranks_(ranks), cut_(ranks), endless_(ranks), gone_(ranks, false) {}
  MakeRankWire wire(int rank);
  void cut_off(int rank) { cut_[rank] = true; }
  void never_finish(int rank) { endless_[rank] = true; }

 private:
  friend class FakeWire;
  struct Message {
    bool done = false;
    std::byte* to = nullptr;
    const std::byte* from = nullptr;
    std::size_t bytes = 0;
  };
  struct Queue {
    std::deque<std::shared_ptr<Message>> sent, expected;
  };
  void meet(Queue& queue);
  void leave(int rank);

  const int ranks_;
  std::mutex mutex_;
  std::map<std::tuple<int, int, int>, Queue> queues_;  // from, to, tag
  std::deque<std::atomic<bool>> cut_, endless_;
  std::vector<bool> gone_;
};

}  // namespace pipetrain::testing
