// The four schedules of BaPipe (Zhao et al., arXiv 2012.12544) as one table: how long a step takes,
// what a stage keeps, and which of our schedules runs this way. We could not obtain the paper's
// body: the formulas are those that a simulation confirms. Which are ours alone is in
// docs/planning-bapipe.md.
//
// N stages, counted i = 1..N in the texts and from 0 in the code; M micro-batches; F and B the
// times of the slowest stage, SR the longest transfer over a boundary, a the features that a stage
// keeps of a micro-batch, w its weights.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "plan/cluster/cluster.hpp"

namespace pipetrain {

// The times of the slowest stage and of the longest transfer.
struct PipelinePace {
  double forward_ms = 0, backward_ms = 0, transfer_ms = 0;

  double compute_ms() const { return forward_ms + backward_ms; }
};

struct BapipeSchedule {
  std::string_view name;
  Execution platform;
  std::string_view keys;  // for [pipeline], to paste
  std::string_view summary, time, features;
  std::string_view hides;  // up to which transfers the formula holds; empty: all
  int (*transfers_paid)(int stages, int microbatches);  // in addition to the computation
  int (*depth)(int stages, int stage);            // micro-batches kept, if there are that many
  double (*hidden_ms)(const PipelinePace& pace);  // the longest transfer that the formula allows
};

std::span<const BapipeSchedule> bapipe_schedules();
const BapipeSchedule* find_bapipe_schedule(std::string_view name);
// Lines of [pipeline] for a proposal's `schedule`, which is one of these or one of our own.
std::string schedule_keys(std::string_view name);

// The time of one mini-batch: (M + N - 1)(F + B) and the transfers that are paid.
double step_ms(const BapipeSchedule& schedule, int stages, int microbatches,
               const PipelinePace& pace);
// How many micro-batches' features a stage (from 0) keeps at once; no more than `microbatches`.
int features_kept(const BapipeSchedule& schedule, int stages, int stage, int microbatches);
// The weights and their gradient.
inline constexpr int kWeightCopies = 2;

}  // namespace pipetrain
