// What devices on several ranks cannot do yet.
#pragma once

#include "compile/pipeline_input.hpp"
#include "compile/pipeline_sizes.hpp"

namespace pipetrain {

// UsageError if the copies of a stage are spread over ranks, on devices, in a way in which their
// gradients or their running statistics cannot be joined.
void check_device_ranks(const PipelineInput& input, const PipelineNeeds& needs);

}  // namespace pipetrain
