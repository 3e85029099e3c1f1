// A plan as a picture, for a page or a paper.
#pragma once

#include <string>

#include "plan/proposal.hpp"

namespace pipetrain {

// The map of stages from top to bottom: layers, replicas and devices, a bar for each time and each
// transfer, on one scale, and one for the memory. What bounds the step is marked. The picture has
// its own background, light or dark as its reader prefers.
std::string proposal_svg(const Proposal& proposal);

}  // namespace pipetrain
