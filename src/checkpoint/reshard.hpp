// The same checkpoint in another number of files. Not needed to resume with another split (names
// are global): it is for tools that want one file, or one per machine.
#pragma once

#include "checkpoint/load.hpp"
#include "checkpoint/save.hpp"

namespace pipetrain {

// Whole layers, in order, in parts of about equal size. UsageError if there are fewer layers than
// parts.
Snapshot resharded(Checkpoint checkpoint, int parts);

}  // namespace pipetrain
