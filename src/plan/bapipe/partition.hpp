// Where BaPipe cuts a row of layers into one stage per device, solved exactly.
#pragma once

#include <optional>

#include "plan/bapipe/costs.hpp"

namespace pipetrain {

// The partition whose slowest stage is fastest, whatever memory and transfers it takes: what the
// exploration begins with. Needs at least one layer per stage.
StageCuts balanced_partition(const PipelineCosts& costs);

// Of all contiguous partitions whose stages fit their devices and whose transfers the schedule
// hides (hides_transfers), the one with the shortest step. None if there is none. This is the
// paper's coarse grouping (cuts with long transfers are excluded) and its fine-tuning of memory
// (stages that do not fit are excluded) in one exact search: O(stages x layers^2) for each length
// of transfer.
std::optional<StageCuts> best_partition(const PipelineCosts& costs);

}  // namespace pipetrain
