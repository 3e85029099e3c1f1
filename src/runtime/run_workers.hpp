// Runs the workers of one run on their threads: the only place that starts threads for training.
#pragma once

#include <exception>
#include <functional>

#include "machine/threads.hpp"
#include "runtime/run.hpp"

namespace pipetrain {

// Called again and again while the workers run, from the thread that runs them. Reports; if `wait`
// is set, first waits for something to report. False: nothing is left.
using Report = std::function<bool(bool wait)>;

// Must wake everything that waits for another worker. Called for each failure, by the thread that
// fails.
using OnFailure = std::function<void(const std::exception_ptr& failure)>;

// Runs every worker to its end: each on a thread of its own as `threads` says or, if that is null,
// all on this one, where the last worker that can takes the next step. The first failure of any
// worker or of `report` is rethrown once all have stopped.
void run_workers(const Run& run, const ThreadPlan* threads, const Report& report,
                 const OnFailure& on_failure);

}  // namespace pipetrain
