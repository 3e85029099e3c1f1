// What a program's instructions cost on each stage, from the times of its layers.
#pragma once

#include "compile/compiled_pipeline.hpp"
#include "plan/profile.hpp"
#include "program/costs.hpp"

namespace pipetrain {

// In milliseconds, for micro-batches of the mini-batch's mean size.
struct StagePrices {
  Costs work;  // of kernels only: what counts as busy
  Costs
      all;  // with what runs besides kernels: the instructions themselves, and handing packets over
};

// Throws a UsageError if the profile is of another model or has no times for these threads.
StagePrices stage_prices(const CompiledPipeline& pipeline, const Profile& profile);

}  // namespace pipetrain
