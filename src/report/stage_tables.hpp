// What a report says of a run's stages: who is busy, who waits, who holds what.
#pragma once

#include <string>

#include "report/run_record.hpp"

namespace pipetrain {

// Which stage bounds the step, in a sentence; empty with one stage.
std::string bottleneck_text(const RunRecord& run);
std::string stages_table(const RunRecord& run);
// Memory per stage, predicted and measured, and by use as a bar; empty where nothing was predicted.
std::string memory_table(const RunRecord& run);

}  // namespace pipetrain
