// What a report says about a run's stages: which ones are busy, which wait, and what they hold.
#pragma once

#include <string>

#include "report/run_record.hpp"

namespace pipetrain {

// Which stage limits the step, as a sentence; empty with one stage.
std::string bottleneck_text(const RunRecord& run);
std::string stages_table(const RunRecord& run);
// Memory per stage, predicted and measured, and by use as a bar; empty if nothing was predicted.
std::string memory_table(const RunRecord& run);

}  // namespace pipetrain
