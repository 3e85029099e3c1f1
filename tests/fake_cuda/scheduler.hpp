// The queues of the streams, and which operation runs next.
//
//   stream a   [work] [record e]
//   stream b   [wait e] [work]      b's head is blocked until a's record has run
//
// Only called with the lock of fake_cuda/world.hpp held.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "fake_cuda/clock.hpp"
#include "fake_cuda/runtime.hpp"

namespace fake_cuda {

struct Queue;

// One record of an event: a wait refers to the record that was the last when it was asked for.
struct Mark {
  Queue* queue = nullptr;
  std::uint64_t position = 0;  // among the queue's operations: passed when this many are done
  bool passed = false;
  Clock clock;
  std::int64_t ns = 0;
};

struct Operation {
  std::string what;
  std::function<void()> work;
  std::function<bool()> ready;     // null: always
  std::shared_ptr<Mark> awaited;   // null: no wait
  std::shared_ptr<Mark> recorded;  // null: no record
  Clock host;                      // what the enqueuing thread had waited for
  std::size_t wait = 0;            // which of the world's event_waits, if it awaits
};

struct Queue {
  int device = 0;
  std::size_t ordinal = 0;  // in the clocks
  bool closed = false;
  std::deque<Operation> waiting;
  std::uint64_t enqueued = 0, done = 0;
  Clock clock;
};

class Scheduler {
 public:
  Scheduler(Order order, std::uint64_t seed) : order_(order), random_(seed) {}

  Queue* open(int device);
  void push(Queue& queue, Operation operation);
  // Runs what the order says until that many of the queue's operations are done. False if nothing
  // can run before they are.
  bool run_until(Queue& queue, std::uint64_t position);
  void run_all();  // all that can run
  // The host polls for it: something may run meanwhile.
  void poll(Queue& queue, std::uint64_t position);

  // Is a rendezvous of that device still waiting for its other side?
  bool waits_for_peer(int device) const;

  const Queue* running() const { return running_; }
  const Operation* operation() const { return operation_; }
  std::string contents() const;  // of all queues, for a report of a deadlock

 private:
  Queue* pick(Queue& goal);
  Queue* needed(Queue& goal) const;
  Queue* random_runnable(const Queue* except);
  void run_head(Queue& queue);

  Order order_;
  std::mt19937_64 random_;
  std::vector<std::unique_ptr<Queue>> queues_;
  Queue* running_ = nullptr;
  const Operation* operation_ = nullptr;
  std::int64_t ns_ = 0;
};

}  // namespace fake_cuda
