// From an order (only F, B, I, W) to a whole program, one addition at a time:
//   add_updates > bind_versions (versions/bind.hpp) > add_recomputes, or add_segment_recomputes
//   (recompute_segments.hpp) > add_loads > add_gradient_sync > add_transfers >
//   send_gradients_early > fuse_updates
#pragma once

#include <set>

#include "program/program.hpp"

namespace pipetrain {

// On each copy of a stage, an Update right after the backward that completes a mini-batch there. If
// copies take whole mini-batches and a copy has none in the last update, that Update is at its end.
Program add_updates(Program program);

// A Recompute in front of each backward, with the weights that the forward read, or with those that
// the backward reads.
enum class RecomputeBy { Forward, Backward };
Program add_recomputes(Program program, RecomputeBy weights);
// Does every backward read the version that its forward read (alone, or in a blend)? If so, that
// version is available for the recomputation.
bool keeps_forward_versions(const Program& program);
// Does every backward read the version that its forward read, and nothing else? If so, a layer that
// runs forward again within the backward gives the same output.
bool rereads_forward_versions(const Program& program);

// A LoadInput in front of each forward of stage 0.
Program add_loads(Program program);

// A SyncGradients where each Update was. It hands in what this copy of the stage knows of its
// mini-batch's gradient: the norm and, if the stage has other copies or shares a parameter with
// another stage, the gradient itself. An Update waits until every copy of every stage of its sync
// group has done so. The Updates of a worker's stages therefore follow the last SyncGradients of
// their mini-batch on the worker.
Program add_gradient_sync(Program program);
// The same for these stages only. The others update as before, wait for no other stage, and are not
// delayed: on their worker they come first.
Program add_gradient_sync(Program program, const std::set<StageId>& stages);

// A receive in front of each forward and backward whose input another stage makes, and a send after
// each whose output another stage reads. Backwards whose gradients go together have one of each.
Program add_transfers(Program program);

// A backward directly followed by the send of its gradients becomes a head, the send and a tail: B3
// SG3 becomes BH3 SG3 BT3. The previous stage no longer waits for the last weight gradient.
Program send_gradients_early(Program program);

// An update that directly follows a backward, a tail or a weight half of its stage becomes a part
// of it: B3 U3 becomes BU3. Only for updates that need no norm: one that is clipped or skipped has
// to wait for the whole gradient.
Program fuse_updates(Program program);

}  // namespace pipetrain
