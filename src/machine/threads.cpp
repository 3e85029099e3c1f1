#include "machine/threads.hpp"

#include <omp.h>
#include <pthread.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cmath>

#include "base/start_thread.hpp"
#include "machine/core_claims.hpp"
#include "machine/cpu_quota.hpp"

namespace pipetrain {
int available_cores() {
  const auto cores = std::min(static_cast<double>(allowed_cores().size()), std::ceil(cpu_quota()));
  return std::max(1, static_cast<int>(cores));
}

bool bound_to_cores() { return std::ssize(allowed_cores()) < ::sysconf(_SC_NPROCESSORS_ONLN); }

ThreadPlan plan_threads(int workers_at_once, int threads_per_stage) {
  const int cores = available_cores();
  ThreadPlan plan;
  plan.threads_per_stage =
      threads_per_stage > 0 ? threads_per_stage : std::max(1, cores / workers_at_once);
  plan.fits = plan.threads_per_stage * workers_at_once <= cores;
  return plan;
}

void set_kernel_threads(int threads) {
  omp_set_dynamic(0);
  omp_set_max_active_levels(std::max(1, omp_get_max_active_levels()));
  omp_set_num_threads(std::min(threads, omp_get_thread_limit()));
}

int kernel_threads() { return omp_get_max_threads(); }

KernelThreads::KernelThreads(int threads) : before_(kernel_threads()) {
  set_kernel_threads(threads);
}
KernelThreads::~KernelThreads() { set_kernel_threads(before_); }

SleepingTeams::SleepingTeams() {
  holder_ = start_thread([this] { hold_team(); });
  started_.acquire();
}

int SleepingTeams::threads() { return omp_get_num_procs() + 1; }

SleepingTeams::~SleepingTeams() {
  ended_.release();
  holder_.join();
}

void SleepingTeams::hold_team() {
  set_kernel_threads(threads());
  std::atomic<int> members = 0;  // GCC drops a team that has nothing to do
#pragma omp parallel
  ++members;
  started_.release();
  ended_.acquire();
}

// One core each: two threads on one core take turns at every barrier, and the scheduler does not
// always notice.
void pin_worker(int worker, const ThreadPlan& plan) {
  if (plan.cores.empty()) return;
#pragma omp parallel
  {
    const int thread = worker * plan.threads_per_stage + omp_get_thread_num();
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(plan.cores[static_cast<std::size_t>(thread) % plan.cores.size()], &set);
    pthread_setaffinity_np(pthread_self(), sizeof set, &set);
  }
}

}  // namespace pipetrain
