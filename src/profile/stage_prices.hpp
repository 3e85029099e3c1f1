// What a program's instructions cost on each stage, of the times of its layers.
#pragma once

#include "compile/compiled_pipeline.hpp"
#include "plan/profile.hpp"
#include "program/costs.hpp"

namespace pipetrain {

// In milliseconds; of micro-batches of the mini-batch's mean size.
struct StagePrices {
  Costs work;  // of kernels alone: what counts as busy
  Costs
      all;  // with what runs beside kernels: the instructions themselves, and handing packets over
};

// UsageError where the profile is of another model or has no times for that number of threads.
StagePrices stage_prices(const CompiledPipeline& pipeline, const Profile& profile);

}  // namespace pipetrain
