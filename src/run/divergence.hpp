// When a loss or a gradient is not finite and on_nonfinite = "stop": the end of the training, with
// what a search should begin with. Nothing here costs time until that happens.
#pragma once

#include "metrics/step_summary.hpp"
#include "run/session.hpp"
#include "runtime/step_board.hpp"

namespace pipetrain {

struct Graph;

struct TrainingParts {  // what the message looks into
  const Config& config;
  const Graph& graph;
  const Plan& plan;
  const Dataset& train;
};

// DivergedError that names step, stage and layer if a number of the step is not finite and the
// update was not skipped; also the samples of the mini-batch that are not finite themselves.
void check_divergence(const TrainingParts& parts, const StepRecord& record, const StepSummary& s);

}  // namespace pipetrain
