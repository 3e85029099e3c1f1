// Threads of kernels and workers on this machine's cores.
#pragma once

#include <vector>

namespace pipetrain {

// That this process may use: fewer than the machine's under taskset or in a container.
int available_cores();

struct ThreadPlan {
  int threads_per_stage = 1;  // of a stage's kernels
  bool fits = false;          // there is a core for every thread
  std::vector<int> cores;  // which (CoreClaims), so that threads are pinned and waiting may spin;
                           // or none
};

// `threads_per_stage` 0 shares the machine's cores among the workers that run at once.
ThreadPlan plan_threads(int workers_at_once, int threads_per_stage);

// The kernels that this thread calls from now on use so many threads, or as many as
// OMP_THREAD_LIMIT allows. A team that is asked for must be had in full: oneDNN's kernels wait at
// barriers for every member, for ever. So other settings of the environment that make teams smaller
// are overruled.
void set_kernel_threads(int threads);

// So many, and at its end as many as before.
class KernelThreads {
 public:
  explicit KernelThreads(int threads);
  ~KernelThreads();
  KernelThreads(const KernelThreads&) = delete;
  KernelThreads& operator=(const KernelThreads&) = delete;

 private:
  int before_;
};

// Keeps this thread and its kernel threads, one each, on those of the plan's cores that are its
// worker's, if it has any; call set_kernel_threads before. Only a matter of speed: where the system
// refuses, nothing happens.
void pin_worker(int worker, const ThreadPlan& plan);

}  // namespace pipetrain
