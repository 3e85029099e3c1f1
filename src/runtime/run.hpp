// What all workers of one run share: the program, the stages, the channels, and what the run is
// for.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/link_rate.hpp"
#include "data/loader.hpp"
#include "metrics/trace.hpp"
#include "program/fold.hpp"
#include "runtime/boundary.hpp"
#include "runtime/stage_copies.hpp"
#include "runtime/step_board.hpp"
#include "runtime/tied_parameters.hpp"
#include "stage/learning_rate.hpp"

namespace pipetrain {

struct EvaluationSum {  // over every sample seen
  double loss = 0;
  std::int64_t correct = 0, correct_top5 = 0;  // of the labels
  std::int64_t labels = 0, samples = 0;
};

// The program that a run repeats, and how often.
struct ProgramRun {
  const Program& program;
  std::span<const Loop> loops;  // per worker; empty: the program is not folded
  std::int64_t first_step = 0;  // mini-batches before this run
  std::int64_t repeats = 1;     // evaluation only; in training the board says when to end

  // Where copies take mini-batches in turn: which of this many copies has this one, counted since
  // training began. A program that is repeated as it is begins with the first copies each time.
  int copy_in_turn(std::int64_t step, int copies) const {
    std::int64_t turn = step - first_step;
    if (loops.empty()) turn %= program.minibatches;
    return static_cast<int>(turn % copies);
  }
};

// What an update depends on, besides the gradient.
struct UpdateRules {
  LearningRate learning_rate;
  double max_norm = 0;  // 0: no clipping
  bool skip_nonfinite = false;
  // Which norm counts: the whole model's, or those of the stage alone and of what it shares.
  bool joint_norm = false, own_norms = false;
};

class OtherTurns;

// One run of a program by all workers. Everything in it outlives them.
struct Run {
  ProgramRun what;
  std::span<const std::unique_ptr<StageCopies>> stages;
  std::span<Boundary> boundaries;     // [s]: between stages s and s + 1
  Loader* loader = nullptr;           // on the rank that has the first or the last stage
  OtherTurns* other_turns = nullptr;  // null: this rank's copies read every mini-batch
  TiedParameters& tied;
  StepBoard* board = nullptr;    // training only
  EvaluationSum* sum = nullptr;  // evaluation only: written by the last stage
  Mode mode = Mode::Train;
  std::uint64_t seed = 1;
  UpdateRules updates;
  std::optional<LinkRate> link = {};  // for messages and sums of gradients
  Trace* trace = nullptr;             // where instructions are recorded; null: nowhere

  std::vector<WorkerId> workers;  // of this rank
  // Called when the workers have stopped but still exist, whose memory may be in use: afterwards no
  // sum and no transfer is in progress. `failed`: what is under way is given up.
  std::function<void(bool failed)> settle = [](bool) {};

  const Program& program() const { return what.program; }
};

}  // namespace pipetrain
