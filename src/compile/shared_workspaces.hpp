// Stages that one thread runs are never at work at the same time, so they use one workspace: that
// of the one which needs most. It holds less, and the next stage finds it in the caches.
#pragma once

#include "compile/compiled_pipeline.hpp"

namespace pipetrain {

// Sets PassNeeds::lender for each copy of a stage that uses another's workspace. The lender is the
// first copy, by stages, of those that need most in that mode. Streams that work on after a call
// returns may be at work at the same time, so stages on devices share nothing.
void share_workspaces(CompiledPipeline& pipeline);

}  // namespace pipetrain
