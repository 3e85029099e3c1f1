// The cut between two stages of which one or both are on other ranks: this rank's ends of its
// channels.
#pragma once

#include <cstddef>
#include <vector>

#include "runtime/boundary.hpp"

namespace pipetrain {

struct PacketsOf {        // in one channel
  std::size_t bytes = 0;  // of each
  int count = 0;
  int samples = 0;  // at most, in a micro-batch
  Mode mode = Mode::Train;
};

std::vector<std::byte*> take_packets(Stage& owner, const PacketsOf& packets);

struct LaneName {
  std::size_t boundary = 0;  // after the stage of this number
  int lane = 0;
};
// Both channels are null if neither stage is on this rank.
Lane make_remote_lane(const BoundaryInput& input, const LaneName& name,
                      const PacketsOf& activations, const PacketsOf& gradients);

}  // namespace pipetrain
