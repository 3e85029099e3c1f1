// Where BaPipe cuts a row of layers into one stage per device, exactly.
#pragma once

#include <optional>

#include "plan/bapipe/costs.hpp"

namespace pipetrain {

// The smallest slowest stage, whatever it takes in memory and transfers; what the exploration
// begins with. Needs a layer for each stage.
StageCuts balanced_partition(const PipelineCosts& costs);

// Of all contiguous partitions whose stages fit their devices and whose transfers the schedule
// hides (hides_transfers), the one with the shortest step. Nothing where there is none. This is the
// paper's coarse grouping (cuts with long transfers are out) and its fine-tuning of memory (stages
// that do not fit are out) in one exact search: O(stages x layers^2) for each length of transfer.
std::optional<StageCuts> best_partition(const PipelineCosts& costs);

}  // namespace pipetrain
