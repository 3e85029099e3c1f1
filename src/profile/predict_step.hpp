// How long a mini-batch will take in steady state: the program that will run, walked through with
// the times of a profile.
#pragma once

#include <vector>

#include "compile/compiled_pipeline.hpp"
#include "plan/profile.hpp"

namespace pipetrain {

struct PredictedStep {
  double step_ms = 0;
  double bubble = 0;         // idle share of the workers' time, 0..1
  std::vector<double> busy;  // per stage: the share of the step that its copies compute, mean
};

// Throws a UsageError if the profile is of another model or has no times for these threads.
PredictedStep predict_step(const CompiledPipeline& pipeline, const Profile& profile);

}  // namespace pipetrain
