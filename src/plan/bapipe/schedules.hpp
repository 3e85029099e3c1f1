// The four schedules of BaPipe (Zhao et al., arXiv 2012.12544) as one table: what a step takes,
// what a stage keeps, and which of our schedules runs so. The paper's body was not available to us:
// the forms are those that a simulation confirms, and which are ours alone docs/planning-bapipe.md
// says.
//
// N stages, counted i = 1..N in the texts and from 0 in the code; M micro-batches; F and B are the
// slowest stage's, SR the longest transfer over a boundary, a the features that a stage keeps of a
// micro-batch, w its weights.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "plan/cluster/cluster.hpp"

namespace pipetrain {

// What the slowest stage and the longest transfer take.
struct PipelinePace {
  double forward_ms = 0, backward_ms = 0, transfer_ms = 0;

  double compute_ms() const { return forward_ms + backward_ms; }
};

struct BapipeSchedule {
  std::string_view name;
  Execution platform;
  std::string_view keys;  // of [pipeline], to paste
  std::string_view summary, time, features;
  std::string_view hides;  // up to which transfers the time holds; empty: all
  int (*transfers_paid)(int stages, int microbatches);  // beside the computation
  int (*depth)(int stages, int stage);            // micro-batches kept where there are as many
  double (*hidden_ms)(const PipelinePace& pace);  // the longest transfer that the time holds for
};

std::span<const BapipeSchedule> bapipe_schedules();
const BapipeSchedule* find_bapipe_schedule(std::string_view name);
// Lines of [pipeline] for a proposal's `schedule`, one of these or of our own.
std::string schedule_keys(std::string_view name);

// Of one mini-batch: (M + N - 1)(F + B) and the transfers that are paid.
double step_ms(const BapipeSchedule& schedule, int stages, int microbatches,
               const PipelinePace& pace);
// Micro-batches whose features a stage (from 0) keeps at once: no more than there are.
int features_kept(const BapipeSchedule& schedule, int stages, int stage, int microbatches);
// Weights and their gradient.
inline constexpr int kWeightCopies = 2;

}  // namespace pipetrain
