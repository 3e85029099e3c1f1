// Threads of kernels and workers on this machine's cores.
#pragma once

#include <semaphore>
#include <thread>
#include <vector>

namespace pipetrain {

// That this process may use: fewer than the machine's under taskset or in a container.
int available_cores();
// May this process run on fewer cores than the machine has online? A launcher binds its ranks so.
bool bound_to_cores();

struct ThreadPlan {
  int threads_per_stage = 1;  // of a stage's kernels
  bool fits = false;          // there is a core for every thread
  std::vector<int> cores;  // which (CoreClaims), so that threads are pinned and waiting may spin;
                           // or none
};

// `threads_per_stage` 0 shares the machine's cores among the workers that run at once.
ThreadPlan plan_threads(int workers_at_once, int threads_per_stage);

// The kernels that this thread calls from now on use this many threads, or as many as
// OMP_THREAD_LIMIT allows. A team that is asked for must be complete: oneDNN's kernels wait at
// barriers for every member, forever. So other settings of the environment that make teams smaller
// are overruled.
void set_kernel_threads(int threads);

int kernel_threads();  // of this thread, as they are set

// This many, and at its end as many as before.
class KernelThreads {
 public:
  explicit KernelThreads(int threads);
  ~KernelThreads();
  KernelThreads(const KernelThreads&) = delete;
  KernelThreads& operator=(const KernelThreads&) = delete;

 private:
  int before_;
};

// While it lives, kernel threads of the whole process sleep while they wait for each other, instead
// of spinning for milliseconds: on cores that others use too, a thread that spins keeps off the
// very one that it waits for. For GNU's OpenMP, which does so by itself while the threads of all
// teams outnumber the cores: so a team that does nothing is added. Others wait as they always do.
class SleepingTeams {
 public:
  SleepingTeams();
  ~SleepingTeams();
  SleepingTeams(const SleepingTeams&) = delete;
  SleepingTeams& operator=(const SleepingTeams&) = delete;

  static int threads();  // that one takes

 private:
  void hold_team();

  std::binary_semaphore started_{0}, ended_{0};
  std::thread holder_;  // the team ends with its thread
};

// Keeps this thread and its kernel threads, one each, on those of the plan's cores that are its
// worker's, if it has any; call set_kernel_threads before. Only a matter of speed: where the system
// refuses, nothing happens.
void pin_worker(int worker, const ThreadPlan& plan);

}  // namespace pipetrain
