// The threads that a config's workers and their kernels have.
#pragma once

#include "config/config.hpp"
#include "machine/threads.hpp"

namespace pipetrain {

bool is_inline(const Config& config);  // all workers share the caller's thread

int workers_at_once(const Config& config);

ThreadPlan threads_for(const Config& config);

}  // namespace pipetrain
