// Threads that work ahead of others or after them, and so never preempt them.
#pragma once

namespace pipetrain {

// While it lives, this thread interrupts nobody when it is woken: it waits for a core that is free
// or for the scheduler's next tick, with the same share of time as before (Linux's SCHED_BATCH).
// Who wakes it may hold up a whole team of kernel threads. Only a matter of speed: where the system
// refuses, or the user has chosen another policy, nothing happens. Of the thread that made it.
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
