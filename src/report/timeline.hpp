// What every stage did in some steps, as an SVG picture for a page.
#pragma once

#include <string>

#include "report/trace_slices.hpp"

namespace pipetrain {

// Two rows per stage: the upper one shows what it computed, in the colour of the weights' version,
// forwards lighter than backwards; the lower one what it sent and received, and when it waited.
// Empty if the trace has no slices.
std::string timeline(const TraceSlices& trace);

}  // namespace pipetrain
