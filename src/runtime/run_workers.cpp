#include "runtime/run_workers.hpp"

#include <algorithm>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

#include "base/batch_scheduling.hpp"
#include "base/check.hpp"
#include "base/start_thread.hpp"
#include "runtime/worker.hpp"

namespace pipetrain {
namespace {

// The first failure wins: it is kept, and everything that a thread could wait for is closed.
class FirstFailure {
 public:
  explicit FirstFailure(const OnFailure& on_failure) : on_failure_(on_failure) {}
  void report(const std::exception_ptr& failure) {
    {
      const std::lock_guard lock(mutex_);
      if (!first_) first_ = failure;
    }
    on_failure_(failure);
  }
  bool happened() const { return first_ != nullptr; }  // once no other thread reports
  void rethrow() const {
    if (first_) std::rethrow_exception(first_);
  }

 private:
  const OnFailure& on_failure_;
  std::mutex mutex_;
  std::exception_ptr first_;
};

// A worker within a pass continues. Otherwise the last worker that can takes the next step: packets
// are read while caches hold them, and no worker runs ahead of the ones after it. False if none
// can.
bool step_of_last(std::vector<Worker>& workers) {
  if (const auto within = std::ranges::find_if(workers, &Worker::within_pass);
      within != workers.end()) {
    PIPETRAIN_CHECK(!within->blocked(), "a pass is stuck in its middle");
    within->step();
    return true;
  }
  const auto last = std::find_if(workers.rbegin(), workers.rend(), [](Worker& worker) {
    return !worker.done() && !worker.blocked();
  });
  if (last == workers.rend()) return false;
  last->step();
  return true;
}

void run_inline(std::vector<Worker>& workers, const Report& report, FirstFailure& failure) {
  try {
    const auto report_all = [&report] {
      bool any = false;
      while (report(false)) any = true;
      return any;
    };
    // Each mini-batch is reported once it ends, and not when the workers have no room for more.
    while (step_of_last(workers) || report_all()) report_all();
    for (Worker& worker : workers) PIPETRAIN_CHECK(worker.done(), "the program is stuck");
    for (Worker& worker : workers) worker.finish();
    report_all();
  } catch (...) {
    failure.report(std::current_exception());
  }
}

void run_threads(std::vector<Worker>& workers, const ThreadPlan& threads, const Report& report,
                 FirstFailure& failure) {
  const auto work = [&](std::size_t w) {
    try {
      set_kernel_threads(threads.threads_per_stage);
      pin_worker(static_cast<int>(w), threads);
      workers[w].run();
    } catch (...) {
      failure.report(std::current_exception());
    }
  };
  std::vector<std::thread> pool;
  pool.reserve(workers.size());
  try {
    for (std::size_t w = 0; w < workers.size(); ++w)
      pool.push_back(start_thread([&work, w] { work(w); }));
    const BatchScheduling reports_behind;  // the workers have their own
    while (report(true)) {
    }
  } catch (...) {
    failure.report(std::current_exception());
  }
  for (std::thread& thread : pool) thread.join();
}

}  // namespace

void run_workers(const Run& run, const ThreadPlan* threads, const Report& report,
                 const OnFailure& on_failure) {
  FirstFailure failure(on_failure);
  std::vector<Worker> workers;
  for (const WorkerId worker : run.workers) workers.emplace_back(run, worker);
  if (threads)
    run_threads(workers, *threads, report, failure);
  else
    run_inline(workers, report, failure);
  try {
    run.settle(failure.happened());
  } catch (...) {
    failure.report(std::current_exception());
    run.settle(true);
  }
  failure.rethrow();
}

}  // namespace pipetrain
