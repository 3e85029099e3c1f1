// Threads that work ahead of others or after them, and so never preempt them.
#pragma once

namespace pipetrain {

// While it lives, this thread preempts no other when it is woken: it waits for a free core
// or for the scheduler's next tick, with the same share of time as before (Linux's SCHED_BATCH).
// The thread that wakes it could otherwise delay a whole team of kernel threads. Only a matter of
// speed: where the system refuses, or the user has chosen another policy, nothing happens. Of the
// thread that made it.
class BatchScheduling {
 public:
  BatchScheduling();
  ~BatchScheduling();
  BatchScheduling(const BatchScheduling&) = delete;
  BatchScheduling& operator=(const BatchScheduling&) = delete;

 private:
  bool changed_;
};

}  // namespace pipetrain
