// Where copies of a stage take whole mini-batches in turn (ProgramShape::whole_minibatches), those
// on other ranks read some of the mini-batches there: this rank's loader skips them.
//
// Threading: any thread.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>

#include "base/ids.hpp"
#include "runtime/run.hpp"

namespace pipetrain {

class OtherTurns {
 public:
  // For a run on this rank, which has a loader.
  explicit OtherTurns(const Run& run);

  // Before a copy of the first or the last stage gets mini-batch `step`, counted since training
  // began: skips for this stage the earlier ones that it has not skipped yet.
  void skip_before(StageId stage, std::int64_t step);
  // After the run, which ended before mini-batch `end`.
  void skip_rest(std::int64_t end);

 private:
  const Run& run_;
  std::mutex mutex_;
  std::map<StageId, std::int64_t> next_;  // the stages here that read mini-batches
};

}  // namespace pipetrain
