#include "compile/pipeline_threads.hpp"

namespace pipetrain {

bool is_inline(const Config& config) { return config.hardware.workers == Workers::Inline; }

int workers_at_once(const Config& config) {
  return is_inline(config) ? 1 : worker_count(config.pipeline);
}

ThreadPlan threads_for(const Config& config) {
  return plan_threads(workers_at_once(config), config.hardware.threads_per_stage);
}

}  // namespace pipetrain
