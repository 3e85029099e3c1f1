// A list scheduler for pipelines in which a mini-batch's backward is one operation per stage: a
// worker that is free begins, without waiting,
//   the backward of its next mini-batch, if that is ready; otherwise
//   the forward of its next micro-batch, if that is ready and its mini-batch is admitted: at most
//   `in_flight` mini-batches are on stage 0 at once, from the first forward there to the end of the
//   backward.
// Times are whole numbers, so the same input gives the same order everywhere. Transfers take no
// time.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <queue>
#include <set>
#include <utility>
#include <vector>

#include "order/parts.hpp"

namespace pipetrain {

class ListScheduler {
 public:
  // input.minibatches mini-batches, or an endless sequence of them.
  enum class Length { AsGiven, Endless };
  explicit ListScheduler(const OrderInput& input, Length length = Length::AsGiven);

  // Calls begins(instruction) for each operation, in the order of their begins. The instruction of
  // a backward is its mini-batch's first. Ends after the last one, or once `begins` returns false.
  template <class Begins>
  void run(Begins begins) {
    for (std::set<int> free = {0}; !free.empty(); free = next_event())
      for (const int w : free)
        if (const auto next = next_of(w); next && !begins(begin(*next))) return;
  }

  // Where all workers are, relative to the last mini-batch whose backward stage 0 has begun. From
  // one state an endless sequence always continues in the same way.
  std::vector<std::int64_t> state() const;

 private:
  enum class Runs : std::uint8_t { Nothing, Forward, Backward };
  struct Worker {
    std::int64_t forwards_begun = 0, forwards_done = 0;    // micro-batches
    std::int64_t backwards_begun = 0, backwards_done = 0;  // mini-batches
    Runs runs = Runs::Nothing;
    std::int64_t end = 0;  // of what it runs
  };

  bool backward_is_ready(int w) const;
  bool forward_is_ready(int w) const;
  std::optional<ComputeInstruction> next_of(int w) const;
  ComputeInstruction begin(ComputeInstruction next);
  void finish(int w);
  std::set<int> next_event();  // the workers that may have something to begin after it

  OrderInput in_;
  bool endless_;
  std::int64_t now_ = 0;
  std::vector<Worker> workers_;
  using End = std::pair<std::int64_t, int>;  // when, and of which worker
  std::priority_queue<End, std::vector<End>, std::greater<>> ends_;
};

}  // namespace pipetrain
