// The stages of a compiled pipeline, each with its copies: from here on memory is taken, of those
// on this rank.
#pragma once

#include <memory>
#include <vector>

#include "compile/compiled_pipeline.hpp"
#include "runtime/stage_copies.hpp"

namespace pipetrain {

// `compiled` outlives them. They have no kernels yet (StageCopies::prepare). DeviceError and out of
// memory: naming the stage.
std::vector<std::unique_ptr<StageCopies>> make_stages(const CompiledPipeline& compiled);

}  // namespace pipetrain
