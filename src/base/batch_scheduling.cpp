#include "base/batch_scheduling.hpp"

#include <pthread.h>
#include <sched.h>

namespace pipetrain {
namespace {

bool change(int from, int to) {
  int policy = 0;
  sched_param parameters{};
  return pthread_getschedparam(pthread_self(), &policy, &parameters) == 0 && policy == from &&
         pthread_setschedparam(pthread_self(), to, &parameters) == 0;
}

}  // namespace

BatchScheduling::BatchScheduling() : changed_(change(SCHED_OTHER, SCHED_BATCH)) {}
BatchScheduling::~BatchScheduling() {
  if (changed_) change(SCHED_BATCH, SCHED_OTHER);
}

}  // namespace pipetrain
