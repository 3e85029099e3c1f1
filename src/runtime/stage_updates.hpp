// The updates of one stage, or of one copy of it: what a backward that fuses an update is given,
// which norm clips gradients or skips an update, and what is reported about the mini-batch after
// it.
//
// How stages agree on a norm: each leaves its sums of squares at the step board (for its own
// parameters only; for a tied parameter, its first use's), which adds them up in the order of the
// parameters.
//
// Threading: used by one worker.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "runtime/run.hpp"
#include "runtime/stage_clock.hpp"
#include "runtime/step_reports.hpp"
#include "stage/results.hpp"

namespace pipetrain {

// An update of a stage, as one of its copies sees it. Mini-batches count from 0 since training
// began.
struct UpdateOf {
  std::int64_t step = 0;  // the last mini-batch that it is for
  int minibatches = 1;    // how many it is for: their gradients are averaged
  // The mini-batch that this copy reports on; none if the copy ran none of them.
  std::optional<std::int64_t> own = {};
};

class StageUpdates {
 public:
  // `share`: how many of a mini-batch's micro-batches run on this copy.
  StageUpdates(const Run& run, StageId stage, int copy, int share, StageClock& times);

  StepReport& report(std::int64_t step) { return reports_.of(step); }
  void add_staleness(int versions) { staleness_sum_ += static_cast<double>(versions); }

  // What the layers of a backward with a fused update need for it; update() does the rest.
  UpdateCall fused(std::int64_t step);
  // Leaves the stage's own sums at the board before any stage can add up what it shares.
  void sync(const UpdateOf& of);
  void update(const UpdateOf& of);
  bool blocked(Op op, const UpdateOf& of) const;      // would it wait for another worker?
  void finish() { reports_.finish(times_.clock()); }  // everything handed in is published

 private:
  StepReport& report_of(const UpdateOf& of) { return reports_.of(of.own.value_or(of.step)); }
  std::int64_t updates_until(std::int64_t step) const;
  void deposit(std::int64_t step);
  void join(std::int64_t step);
  void publish(const StepReport& report) const;
  void set_terms(std::int64_t step);
  void clip(UpdateTerms& terms, double norm);
  void clip_by_own_norms(std::span<double> sums);
  void clip_by_joint_norm(double norm);
  void count_sums(const UpdateOf& of, StageVolumes& volumes);
  void tell(StepReport& report);

  const Run& run_;
  const StageId id_;
  StageCopies& copies_;
  const int copy_;  // which of them this is
  Stage& stage_;
  const bool tied_;     // shares a parameter
  const bool in_turn_;  // copies take whole mini-batches, and each reports on its own
  const int share_;
  StageClock& times_;
  int first_parameter_ = 0;  // among those of the whole model
  bool synced_ = false;
  std::int64_t updates_ = 0;       // in this run
  std::int64_t handed_in_ns_ = 0;  // steady clock
  UpdateTerms own_terms_;
  std::vector<UpdateTerms> tied_terms_;  // for each tied parameter of the model; reused
  double staleness_sum_ = 0;
  Results<double> joint_;  // sums of squares of the gradient that copies have added up
  StepReports reports_;
};

}  // namespace pipetrain
