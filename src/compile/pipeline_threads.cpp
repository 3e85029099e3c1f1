#include "compile/pipeline_threads.hpp"

namespace pipetrain {

bool is_inline(const Config& config) { return config.hardware.workers == Workers::Inline; }

int workers_at_once(const Config& config, const Ranks& ranks) {
  if (is_inline(config)) return 1;
  const int workers = worker_count(config.pipeline);
  int here = 0;
  for (WorkerId worker{0}; worker.value < workers; ++worker.value)
    here += ranks.has(worker, workers);
  return here;
}

ThreadPlan threads_for(const Config& config, const Ranks& ranks) {
  const int workers = workers_at_once(config, ranks),
            sharing = bound_to_cores() ? 1 : ranks.on_host;
  ThreadPlan plan = plan_threads(workers * sharing, config.hardware.threads_per_stage);
  return plan;
}

}  // namespace pipetrain
