// Which packets are in the memory of one copy of a stage, and how much they take: those that it
// sends, and twins of those that it receives from another device or another rank.
#pragma once

#include <array>
#include <span>
#include <vector>

#include "base/ranks.hpp"
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

// Bytes by mode, for the copy's packets to and from both neighbours.
ByMode<std::size_t> packet_room(const PacketRoomInput& input, StageId stage, int copy);

}  // namespace pipetrain
