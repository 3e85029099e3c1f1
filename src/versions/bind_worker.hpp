// Versions for one worker at a time: what bind_versions writes into a whole program, for orders
// that are too large to become one.
#pragma once

#include <vector>

#include "base/indexed.hpp"
#include "program/compact_order.hpp"
#include "versions/bind.hpp"

namespace pipetrain {

class WorkerBinder {
 public:
  // Keeps references to all three.
  WorkerBinder(const CompactOrder& order, const VersionPolicy& policy, const BindRule& rule);

  // The worker's forwards and backwards with what they read, and its updates: its list in
  // bind_versions(add_updates(to_program(order))).
  std::vector<Instruction> bind(WorkerId worker);
  // The most versions that any stage of the worker holds: peak_weight_versions_of_workers
  // (program/liveness.hpp) of that program.
  int peak_versions(WorkerId worker);

 private:
  struct Held {  // a stage of the current worker
    StageId stage;
    int copy = 0;
    int done = 0;  // weight gradients of its current mini-batch
    Version newest = {0};
    Indexed<Version> at_forward;       // per micro-batch in flight, by its last bits
    Indexed<WeightRead> forward_read;  // likewise
    ReadContext context;               // of the last read
  };

  const CompactOrder& order_;
  const VersionPolicy& policy_;
  const BindRule& rule_;
  Indexed<std::vector<Held>, WorkerId> held_by_;    // per worker, as they are at its start
  Indexed<Version, MicrobatchId> entries_, turns_;  // per micro-batch
  Indexed<Held> held_;
  Indexed<int, StageId> held_at_;  // index into held_
  int window_ = 1;

  void find_entries();
  void begin(WorkerId worker);
  template <class OnCompute, class OnUpdate>
  void walk(WorkerId worker, OnCompute on_compute, OnUpdate on_update);
  WeightRead read(Held& held, Op op, MicrobatchId microbatch);
  ReadContext first_context(StageId stage) const;
  const ReadContext& context(Held& held, MicrobatchId microbatch, Version at_backward) const;
};

// Per worker.
std::vector<int> peak_versions_of_workers(const CompactOrder& order, const VersionPolicy& policy,
                                          const BindRule& rule);

}  // namespace pipetrain
