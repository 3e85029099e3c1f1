// From an order (only F, B, I, W) to a whole program, one addition at a time:
//   add_updates > bind_versions (versions/bind.hpp) > add_recomputes > add_loads >
//   add_gradient_sync > add_transfers > send_gradients_early > fuse_updates
#pragma once

#include <set>

#include "program/program.hpp"

namespace pipetrain {

// On each copy of a stage, an Update right after the backward that completes a mini-batch there;
// one that takes whole mini-batches and has none of the last update's has it at its end.
Program add_updates(Program program);

// A Recompute in front of each backward: by the weights that the forward read, or by those that the
// backward reads.
enum class RecomputeBy { Forward, Backward };
Program add_recomputes(Program program, RecomputeBy weights);
// Does every backward read the version that its forward read (alone, or in a blend)? Then that
// version is there to recompute with.
bool keeps_forward_versions(const Program& program);

// LoadInput in front of each forward of stage 0.
Program add_loads(Program program);

// SyncGradients where each Update was. It hands in what this copy of the stage knows of its
// mini-batch's gradient: the norm, and the gradient itself where the stage has other copies, or
// shares a parameter with another stage. An Update waits until every copy of every stage of its
// sync group has done so; those of a worker's stages therefore follow the last SyncGradients of
// their mini-batch on the worker.
Program add_gradient_sync(Program program);
// The same on these stages alone. The others update as before, wait for no other stage, and are not
// delayed: on their worker they come first.
Program add_gradient_sync(Program program, const std::set<StageId>& stages);

// A receive in front of each forward and backward whose input another stage makes, a send after
// each whose output another stage reads; for backwards whose gradients go together, one of each.
Program add_transfers(Program program);

// A backward that is followed at once by the send of its gradients becomes a head, the send and a
// tail: B3 SG3 is BH3 SG3 BT3. The previous stage no longer waits for the last weight gradient.
Program send_gradients_early(Program program);

// An update that follows at once a backward of its stage, a tail or a weight half becomes a part of
// it: B3 U3 is BU3. For updates that go by no norm: one that is clipped or skipped has to wait for
// the whole gradient.
Program fuse_updates(Program program);

}  // namespace pipetrain
