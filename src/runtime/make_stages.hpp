// The stages of a compiled pipeline, each with its copies on this rank. This is where memory starts
// to be taken.
#pragma once

#include <memory>
#include <vector>

#include "compile/compiled_pipeline.hpp"
#include "runtime/stage_copies.hpp"

namespace pipetrain {

// `compiled` outlives them. They have no kernels yet (StageCopies::prepare). Throws a DeviceError
// that names the stage, also if memory runs out.
std::vector<std::unique_ptr<StageCopies>> make_stages(const CompiledPipeline& compiled);

}  // namespace pipetrain
