// What a walk through a whole program needs at every instruction: how long it computes, and when
// the gradients that an update waits for have been handed in.
#pragma once

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "program/costs.hpp"
#include "program/program.hpp"
#include "program/simulate.hpp"

namespace pipetrain {

class ProgramClock {
 public:
  ProgramClock(const Program& program, const Costs& costs)
      : program_(program), costs_(costs), syncing_(program.syncing_stages()) {
    for (const auto& list : program.workers)
      for (const Instruction& i : list)
        if (i.op == Op::SyncGradients) ++sync_of(i).missing;
  }

  double duration(WorkerId worker, const Instruction& i) const {
    const StageCosts& stage = costs_.of(i.stage);
    if (costs_.disturbance.none() || !computes(i.op)) return time_of(stage, i.op);
    const double factor = factor_of(costs_.disturbance, worker, i.stage, i.microbatch, i.op);
    return time_of(stage, without_update(i.op)) * factor + (updates(i.op) ? stage.update : 0);
  }

  // Does it hand in gradients, or wait for those of others?
  bool syncs(const Instruction& i) const {
    return i.op == Op::SyncGradients || (i.op == Op::Update && syncing_.contains(i.stage));
  }

  // When an instruction that syncs runs, on a worker that is free at `now`; none if it has to wait.
  std::optional<Span> sync(WorkerId worker, const Instruction& i, double now) {
    Sync& sync = sync_of(i);
    if (i.op == Op::SyncGradients) {
      --sync.missing;
      sync.complete_at = std::max(sync.complete_at, now);
      return Span{now, now};
    }
    if (sync.missing > 0) return std::nullopt;
    const double there = sync.complete_at + costs_.of(i.stage).all_reduce;
    return Span{now, std::max(now, there) + duration(worker, i)};
  }

  // The time of a transfer over the boundary to the next stage.
  double transfer(int boundary, bool gradient) const {
    const int packets = gradient && program_.gradients_together ? program_.microbatches : 1;
    const StageCosts& costs = costs_.of({boundary});
    return packets * (gradient ? costs.gradient_transfer.value_or(costs.transfer) : costs.transfer);
  }
  double latency(int boundary) const { return costs_.of({boundary}).latency; }

 private:
  // The gradients, or their norms, that are handed in for one update of a sync group.
  struct Sync {
    int missing = 0;
    double complete_at = 0;
  };
  Sync& sync_of(const Instruction& i) {
    return syncs_[{program_.sync_group_of(i.stage), i.microbatch}];
  }

  const Program& program_;
  const Costs& costs_;
  std::set<StageId> syncing_;
  std::map<std::pair<int, MicrobatchId>, Sync> syncs_;
};

}  // namespace pipetrain
