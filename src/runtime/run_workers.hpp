// The workers of one run on their threads: the only place that starts threads for training.
#pragma once

#include <functional>

#include "machine/threads.hpp"
#include "runtime/run.hpp"

namespace pipetrain {

// Called again and again from the thread that runs the workers, while they run: reports, and if
// asked to, waits for something to report. False: nothing is left.
using Report = std::function<bool(bool wait)>;

// Runs every worker to its end: each on a thread of its own as `threads` has it, or, where that is
// null, one after the other on this one. The first failure of any worker or of `report` is rethrown
// once all have stopped; `close_all` must then wake all that wait for another one.
void run_workers(const Run& run, const ThreadPlan* threads, const Report& report,
                 const std::function<void()>& close_all);

}  // namespace pipetrain
