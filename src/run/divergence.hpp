// Ends a training when a loss or a gradient is not finite and on_nonfinite = "stop", and says where
// to start looking. Costs no time until that happens.
#pragma once

#include "metrics/step_summary.hpp"
#include "run/session.hpp"
#include "runtime/step_board.hpp"

namespace pipetrain {

struct Graph;

struct TrainingParts {  // what the message is made from
  const Config& config;
  const Graph& graph;
  const Plan& plan;
  const Dataset& train;
};

// DivergedError, which names step, stage and layer, if a number of the step is not finite and
// on_nonfinite = "stop"; it also names the mini-batch's samples that are not finite themselves.
void check_divergence(const TrainingParts& parts, const StepRecord& record, const StepSummary& s);

}  // namespace pipetrain
