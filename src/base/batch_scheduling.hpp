// For threads that work ahead of others or after them, and so must never preempt them.
#pragma once

namespace pipetrain {

// While it lives, the thread that made it preempts no other when it is woken: it waits for a free
// core or for the scheduler's next tick, and keeps its share of time (Linux's SCHED_BATCH).
// Otherwise the thread that wakes it could be preempted, and with it a whole team of kernel threads
// delayed. This affects speed only: where the system refuses, or the user has chosen another
// policy, nothing happens.
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
