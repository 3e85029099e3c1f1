// Tracks, during a walk through an order, which copies have all gradients of a mini-batch, and
// which updates wait for which: what add_updates and add_gradient_sync (program/passes.hpp) would
// write into a program.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <set>
#include <unordered_map>
#include <vector>

#include "program/compact_order.hpp"

namespace pipetrain {

class GradientBoard {
 public:
  // `syncing`: the stages that hand in gradients, and whose updates wait until their whole sync
  // group has done so.
  GradientBoard(const CompactOrder& order, const std::set<StageId>& syncing);

  // Counts one more weight gradient of the worker's copy of `stage`, at `now`. True if the stage
  // updates at once.
  bool count(int worker, StageId stage, int microbatch, double now);
  // Called after everything that the worker computes: it may still have a last update, for
  // mini-batches of other copies only. May be called again.
  void end(int worker, double now);
  // The workers whose wait has ended since the last call.
  std::vector<int> take_released();

  // Does the worker have updates that wait for others?
  bool awaits(int worker) const;
  // The next of them, and when the last gradient for it was handed in. None if one is still
  // missing; the worker then waits.
  struct Due {
    StageId stage;
    double complete_at = 0;
  };
  std::optional<Due> pass(int worker);

 private:
  struct StageCopy {
    StageId stage;
    int copy = 0;
    int done = 0;  // weight gradients of the current mini-batch
  };
  struct Waiting {  // an update
    StageId stage;
    int update = 0;
  };
  struct Worker {
    std::vector<StageCopy> held = {};
    int stages_done = 0;           // in the current mini-batch
    std::deque<Waiting> due = {};  // they come once the worker's other stages are done too
    bool waits = false;
    bool ended = false;
  };
  struct HandedIn {  // for one update of a sync group
    int missing = 0, to_pass = 0;
    double complete_at = 0;
    std::vector<int> waiting = {};  // workers
  };

  const CompactOrder& order_;
  const std::set<StageId>& syncing_;
  std::vector<Worker> workers_;
  std::vector<int> members_;                              // per sync group: copies that hand in
  std::unordered_map<std::int64_t, HandedIn> handed_in_;  // those that some update still needs
  std::vector<int> released_;

  bool takes_part(const StageCopy& copy) const;
  std::int64_t key(const Waiting& update) const;
  HandedIn& handed_in(const Waiting& update);
  void hand_in(Worker& worker, const Waiting& update, double now);
};

}  // namespace pipetrain
