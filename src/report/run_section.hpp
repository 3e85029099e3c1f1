// The section of a report about one run.
#pragma once

#include <string>

#include "report/run_record.hpp"

namespace pipetrain {

// "lenet5, 61,706 parameters; 1f1b, 4 stages, 4 micro-batches a mini-batch; finished"
std::string summary_text(const RunRecord& run);

// HTML without a heading: warnings, figures, curves, timeline, stages, memory, config, environment.
std::string run_section(const RunRecord& run);

}  // namespace pipetrain
