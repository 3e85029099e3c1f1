// How much the packets of one copy of a stage take: those that it sends and twins of those that it
// receives from another device are in its memory, those that it receives from another rank are not.
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
