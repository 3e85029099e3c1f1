// From an order (only F, B, I, W) to a whole program, one addition at a time:
//   add_updates > bind_versions (versions/bind.hpp) > add_loads > add_gradient_sync > add_transfers
#pragma once

#include "program/program.hpp"

namespace pipetrain {

// On each copy of a stage, an Update right behind the backward that completes a mini-batch there.
Program add_updates(Program program);

// LoadInput in front of each forward of stage 0.
Program add_loads(Program program);

// SyncGradients where each Update stood. It hands in what this copy of the stage knows of its
// mini-batch's gradient: the norm, and the gradient itself where the stage has other copies. An
// Update waits until every copy of every stage has done so; those of a worker's stages therefore
// follow the last SyncGradients of their mini-batch on the worker.
Program add_gradient_sync(Program program);

// A receive in front of each forward and backward whose input another stage makes, a send behind
// each whose output another stage reads; for backwards whose gradients go together, one of each.
Program add_transfers(Program program);

}  // namespace pipetrain
