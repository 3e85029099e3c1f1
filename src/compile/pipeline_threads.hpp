// The threads that a config's workers and their kernels have.
#pragma once

#include "base/ranks.hpp"
#include "config/config.hpp"
#include "machine/threads.hpp"

namespace pipetrain {

bool is_inline(const Config& config);  // all workers share the caller's thread

// Of this process.
int workers_at_once(const Config& config, const Ranks& ranks = {});

// Where several processes on one host may use all of its cores, they share them.
ThreadPlan threads_for(const Config& config, const Ranks& ranks = {});

}  // namespace pipetrain
