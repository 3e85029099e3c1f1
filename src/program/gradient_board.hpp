// Which copies have all gradients of a mini-batch while an order is walked through, and which
// updates wait for which: what add_updates and add_gradient_sync (program/passes.hpp) would write
// into a program.
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
  // `syncing`: the stages that hand in gradients, and whose updates wait until all of their sync
  // group have.
  GradientBoard(const CompactOrder& order, const std::set<StageId>& syncing);

  // One more weight gradient of the worker's copy of `stage`, at `now`. True where the stage
  // updates at once.
  bool count(int worker, StageId stage, int microbatch, double now);
  // After all that the worker computes: it may have a last update for mini-batches of other
  // copies alone. May be called again.
  void end(int worker, double now);
  // The workers whose wait that has ended.
  std::vector<int> take_released();

  // Has the worker updates that wait for others?
  bool awaits(int worker) const;
  // The next of them, and when all had handed in; nothing where one has not yet, and the worker
  // waits.
  struct Due {
    StageId stage;
    double complete_at = 0;
  };
  std::optional<Due> pass(int worker);

 private:
  struct StageCopy {
    StageId stage;
    int copy = 0;
    int done = 0;  // weight gradients of the present mini-batch
  };
  struct Waiting {  // an update
    StageId stage;
    int update = 0;
  };
  struct Worker {
    std::vector<StageCopy> held = {};
    int stages_done = 0;           // of the present mini-batch
    std::deque<Waiting> due = {};  // once the worker's other stages are done too
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
  std::unordered_map<std::int64_t, HandedIn> handed_in_;  // those that somebody still needs
  std::vector<int> released_;

  bool takes_part(const StageCopy& copy) const;
  std::int64_t key(const Waiting& update) const;
  HandedIn& handed_in(const Waiting& update);
  void hand_in(Worker& worker, const Waiting& update, double now);
};

}  // namespace pipetrain
