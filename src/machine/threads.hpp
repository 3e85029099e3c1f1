// How kernels' and workers' threads share this machine's cores.
#pragma once

#include <semaphore>
#include <thread>
#include <vector>

namespace pipetrain {

// Cores that this process may use: fewer than the machine has under taskset or in a container.
int available_cores();
// May this process run on fewer cores than the machine has online? Launchers bind ranks that way.
bool bound_to_cores();

struct ThreadPlan {
  int threads_per_stage = 1;  // of a stage's kernels
  bool fits = false;          // is there a core for every thread?
  std::vector<int> cores;  // claimed ones (CoreClaims): threads are pinned to them, and may spin;
                           // or none
};

// `threads_per_stage` 0 divides the machine's cores among the workers that run at once.
ThreadPlan plan_threads(int workers_at_once, int threads_per_stage);

// From now on, kernels that this thread calls use this many threads, or as many as OMP_THREAD_LIMIT
// allows. A team must be complete: oneDNN's kernels wait at barriers for every member, forever. So
// other environment settings that make teams smaller are overruled.
void set_kernel_threads(int threads);

int kernel_threads();  // as set for this thread

// Sets this many threads, and restores the previous number at its end.
class KernelThreads {
 public:
  explicit KernelThreads(int threads);
  ~KernelThreads();
  KernelThreads(const KernelThreads&) = delete;
  KernelThreads& operator=(const KernelThreads&) = delete;

 private:
  int before_;
};

// As long as one exists, kernel threads of the whole process sleep while they wait for each other,
// instead of spinning for milliseconds: on cores that others use too, a spinning thread keeps the
// very thread that it waits for off the core. For GNU's OpenMP, whose threads do so if the threads
// of all teams outnumber the cores: so this adds a team that does nothing. Other OpenMP libraries
// are not affected.
class SleepingTeams {
 public:
  SleepingTeams();
  ~SleepingTeams();
  SleepingTeams(const SleepingTeams&) = delete;
  SleepingTeams& operator=(const SleepingTeams&) = delete;

  static int threads();  // in that team

 private:
  void hold_team();

  std::binary_semaphore started_{0}, ended_{0};
  std::thread holder_;  // the team ends with its thread
};

// Keeps this thread and its kernel threads on those cores of the plan that are its worker's, one
// each, if there are any; call set_kernel_threads() before. Affects speed only: if the system
// refuses, nothing happens.
void pin_worker(int worker, const ThreadPlan& plan);

}  // namespace pipetrain
