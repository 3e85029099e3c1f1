// How much of everything a pipeline takes, worked out from its programs alone: memory is taken and
// predicted by the same numbers.
#pragma once

#include <set>
#include <vector>

#include "runtime/pipeline.hpp"
#include "runtime/segment_program.hpp"

namespace pipetrain {

struct StageNeeds {
  int copies = 1;  // of the stage, on several workers; the rest is of each
  int slots = 1, input_slots = 0, weight_copies = 1;
  bool mixes_weights = false;
  DeltaRule delta = {};
  PacketCounts packets;  // to and from the stage behind, of each lane
  int lanes = 1;
  int gradients_in_a_packet = 1;  // micro-batches
};

struct PipelineNeeds {
  SegmentProgram program;  // of the longest segment
  SegmentProgram warmup;   // PipeMare's synchronous epochs; no workers where there are none
  std::set<StageId> tied;  // stages that share parameters
  bool split_backward = false;
  std::vector<StageNeeds> stages;
};

PipelineNeeds needs_of(const PipelineInput& input);

// The workers that hold a copy of the stage.
std::vector<WorkerId> workers_of(const Program& program, StageId stage);

// A gradient packet's bytes, of micro-batches of so many samples: a cache line at least.
std::size_t packet_bytes(std::size_t bytes, int microbatches);

}  // namespace pipetrain
