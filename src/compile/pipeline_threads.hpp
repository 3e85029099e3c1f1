// The threads of a config's workers and of their kernels.
#pragma once

#include "base/ranks.hpp"
#include "config/config.hpp"
#include "machine/threads.hpp"

namespace pipetrain {

bool is_inline(const Config& config);  // all workers share the caller's thread

// How many workers of this process run at once.
int workers_at_once(const Config& config, const Ranks& ranks = {});

// Several processes on one host that may use all of its cores divide them among themselves.
ThreadPlan threads_for(const Config& config, const Ranks& ranks = {});

}  // namespace pipetrain
