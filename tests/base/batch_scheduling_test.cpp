// The scheduling policy is changed and changed back, for one thread alone.
#include "base/batch_scheduling.hpp"

#include <sched.h>

#include <thread>

#include "catch.hpp"

using namespace pipetrain;

TEST_CASE("a thread preempts no other while its batch scheduling lasts", "[batch scheduling]") {
  if (sched_getscheduler(0) != SCHED_OTHER) {
    WARN("skipped: these tests run under a policy of their own");
    return;
  }
  int other = -1;
  {
    const BatchScheduling batch;
    CHECK(sched_getscheduler(0) == SCHED_BATCH);
    { const BatchScheduling again; }
    CHECK(sched_getscheduler(0) == SCHED_BATCH);
  }
  std::thread([&] {
    const BatchScheduling batch;
    other = sched_getscheduler(0);
  }).join();
  CHECK(other == SCHED_BATCH);
  CHECK(sched_getscheduler(0) == SCHED_OTHER);
}
