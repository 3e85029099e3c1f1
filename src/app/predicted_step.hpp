// How long a training's step should take, if the model has been profiled on this machine before.
#pragma once

#include <optional>

#include "compile/compiled_pipeline.hpp"
#include "data/dataset.hpp"
#include "profile/predict_step.hpp"

namespace pipetrain {

// From the profile that this machine keeps; nothing if there is none.
std::optional<PredictedStep> step_by_cached_profile(const CompiledPipeline& pipeline,
                                                    const Dataset& train);

}  // namespace pipetrain
