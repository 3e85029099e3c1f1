// How much the packets of one copy of a stage take. In its memory are those that it sends and, on a
// device, twins of those that it receives from another device or another rank; what a host receives
// from another rank is not.
#pragma once

#include <array>
#include <span>
#include <vector>

#include "base/ranks.hpp"
#include "compile/pass_needs.hpp"
#include "compile/pipeline_sizes.hpp"

namespace pipetrain {

struct PacketRoomInput {
  const Plan& plan;
  const Backend& backend;
  const LoweredModel& model;
  std::span<const MicrobatchSize> sizes;
  const PipelineNeeds& needs;
  const Ranks& ranks;
};

// For the copy's packets to and from both neighbours.
PacketBytes packet_room(const PacketRoomInput& input, StageId stage, int copy);

}  // namespace pipetrain
