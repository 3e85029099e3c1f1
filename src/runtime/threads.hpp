// Threads of kernels and workers on this machine's cores.
#pragma once

#include <string_view>

namespace pipetrain {

int available_cores();

struct ThreadPlan {
  int threads_per_stage = 1;  // of a stage's kernels
  bool fits = false;  // every worker has cores of its own: pin it there, and waiting may spin
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

// Keeps this thread and its kernel threads, one each, on the cores of its worker; call
// set_kernel_threads before. Only a matter of speed: where the system refuses, nothing happens.
void pin_worker(int worker, int threads_per_stage);

}  // namespace pipetrain
