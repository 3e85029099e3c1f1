#include "compile/shared_workspaces.hpp"

#include <map>

#include "compile/pipeline_threads.hpp"

namespace pipetrain {
namespace {

// What runs the worker's stages: its own thread, or one for all workers of its rank.
int thread_of(const CompiledPipeline& p, WorkerId worker) {
  const int workers = static_cast<int>(p.needs.program.program.workers.size());
  return is_inline(p.in.config) ? p.in.ranks.of(worker, workers) : worker.value;
}

bool runs(const CompiledPipeline& p, Mode mode, int copy) {
  return mode == Mode::Train || (copy == 0 && most_samples(p.sizes, mode) > 0);
}

// Calls `visit` with each copy of a stage that runs in this mode, its thread and its needs.
template <class Visit>
void each_copy(CompiledPipeline& p, Mode mode, const Visit& visit) {
  for (std::size_t s = 0; s < p.parts.size(); ++s) {
    const StageId stage{static_cast<int>(s)};
    int copy = 0;
    for (const WorkerId worker : workers_of(p.needs.program.program, stage)) {
      const StageCopy which{stage, copy++};
      if (runs(p, mode, which.copy))
        visit(which, thread_of(p, worker),
              p.parts[s].passes[static_cast<std::size_t>(which.copy)][mode]);
    }
  }
}

void share(CompiledPipeline& p, Mode mode) {
  struct Largest {
    StageCopy of;
    std::size_t bytes = 0;
  };
  std::map<int, Largest> largest;  // by thread
  each_copy(p, mode, [&](StageCopy which, int thread, const PassNeeds& needs) {
    const auto [found, first] =
        largest.try_emplace(thread, Largest{which, needs.workspace_bytes()});
    if (!first && needs.workspace_bytes() > found->second.bytes)
      found->second = {which, needs.workspace_bytes()};
  });
  each_copy(p, mode, [&](StageCopy which, int thread, PassNeeds& needs) {
    if (const StageCopy lender = largest.at(thread).of; lender != which) needs.lender = lender;
  });
}

}  // namespace

void share_workspaces(CompiledPipeline& p) {
  if (p.in.backend.asynchronous()) return;
  for (const Mode mode : {Mode::Train, Mode::Evaluate}) share(p, mode);
}

}  // namespace pipetrain
