// Who has all gradients of a mini-batch while an order is walked through, and which updates wait
// for whom: what add_updates and add_gradient_sync (program/passes.hpp) would write into a program.
#pragma once

#include <optional>
#include <set>
#include <vector>

#include "program/compact_order.hpp"

namespace pipetrain {

class GradientBoard {
 public:
  // `syncing`: the stages that hand in gradients, and whose updates wait until all have.
  GradientBoard(const CompactOrder& order, const std::set<StageId>& syncing);

  // One more weight gradient of the worker's copy of `stage`, at `now`. True where the stage
  // updates at once.
  bool count(int worker, StageId stage, int microbatch, double now);
  // The workers whose wait that has ended.
  std::vector<int> take_released();

  // Has the worker updates that wait for others?
  bool awaits(int worker) const { return workers_[static_cast<std::size_t>(worker)].awaited >= 0; }
  // When all have handed in; nothing where one has not yet, and the worker waits.
  std::optional<double> pass(int worker);
  // Then: the stages that update now.
  std::vector<StageId> take_due(int worker);

 private:
  struct StageCopy {
    StageId stage;
    int copy = 0, copies = 1;
    int done = 0;  // weight gradients of the present mini-batch
  };
  struct Worker {
    std::vector<StageCopy> held = {};
    int stages_done = 0;            // of the present mini-batch
    std::vector<StageId> due = {};  // update when `awaited` is complete
    int awaited = -1;               // a mini-batch
  };
  struct HandedIn {  // for one mini-batch
    int missing = 0;
    double complete_at = 0;
    std::vector<int> waiting = {};  // workers
  };

  const CompactOrder& order_;
  const std::set<StageId>& syncing_;
  std::vector<Worker> workers_;
  std::vector<HandedIn> handed_in_;  // per mini-batch
  std::vector<int> released_;

  int share(const StageCopy& copy, MinibatchId k) const {
    return share_of_copy(order_, copy.copy, copy.copies, k);
  }
  void hand_in(Worker& worker, StageId stage, MinibatchId k, double now);
};

}  // namespace pipetrain
