#include "runtime/other_turns.hpp"

namespace pipetrain {

OtherTurns::OtherTurns(const Run& run) : run_(run) {
  for (const StageId stage : {StageId{0}, StageId{run.program().stages - 1}})
    if (run.stages[stage.value]->has_any()) next_[stage] = run.what.first_step;
}

void OtherTurns::skip_before(StageId stage, std::int64_t step) {
  const StageCopies& copies = *run_.stages[stage.value];
  const std::lock_guard lock(mutex_);
  for (std::int64_t& next = next_.at(stage); next < step; ++next)
    if (!copies.has(run_.what.copy_in_turn(next, copies.count()))) run_.loader->skip(next);
}

void OtherTurns::skip_rest(std::int64_t end) {
  for (const auto& [stage, next] : next_) skip_before(stage, end);
}

}  // namespace pipetrain
