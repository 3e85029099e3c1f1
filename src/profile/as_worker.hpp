// Runs what is measured where a worker would run it.
#pragma once

#include <exception>

#include "base/start_thread.hpp"
#include "machine/threads.hpp"

namespace pipetrain {

// Calls `work` on a thread of its own, which is pinned as worker 0 is, and waits for it. Throws
// what `work` throws, and a DeviceError if no thread can be started.
template <class Work>
void as_worker(const ThreadPlan& threads, const Work& work) {
  std::exception_ptr failure;
  start_thread([&] {
    try {
      set_kernel_threads(threads.threads_per_stage);
      pin_worker(0, threads);
      work();
    } catch (...) {
      failure = std::current_exception();
    }
  }).join();
  if (failure) std::rethrow_exception(failure);
}

}  // namespace pipetrain
