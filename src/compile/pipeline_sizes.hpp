// How much of everything a pipeline takes, worked out from its programs alone: the same numbers are
// used to predict memory and to take it.
#pragma once

#include <set>
#include <span>
#include <vector>

#include "base/indexed.hpp"
#include "compile/lowered_model.hpp"
#include "compile/pipeline_input.hpp"
#include "compile/segment_program.hpp"

namespace pipetrain {

struct StageNeeds {
  int copies = 1;  // of the stage, on several workers; the rest is for each copy
  int slots = 1, input_slots = 0, weight_copies = 1;
  bool mixes_weights = false;
  int statistics_logged = 0;  // micro-batches; 0 without other copies
  DeltaRule delta = {};
  PacketCounts packets;  // to and from the next stage, for each lane
  int lanes = 1;
  int gradients_in_a_packet = 1;  // micro-batches
};

struct PipelineNeeds {
  SegmentProgram program;  // of the longest segment
  SegmentProgram warmup;   // PipeMare's synchronous epochs; no workers if there are none
  std::set<StageId> tied;  // stages that share parameters
  bool split_backward = false;
  Indexed<bool, LayerId> recomputed;  // RecipeInput::recomputed
  Indexed<StageNeeds, StageId> stages;
};

PipelineNeeds needs_of(const PipelineInput& input);

// The workers that hold a copy of the stage.
std::vector<WorkerId> workers_of(const Program& program, StageId stage);

// A packet's bytes, with the tensors of this many micro-batches: at least a cache line.
std::size_t packet_bytes(std::size_t bytes, int microbatches);

// The largest packets at the cut before layer `next` for micro-batches in that mode.
struct PacketSizes {  // bytes of one micro-batch
  std::size_t activations = 0, gradients = 0;
};
PacketSizes packet_sizes(const LoweredModel& model, LayerId next,
                         std::span<const MicrobatchSize> sizes, Mode mode);

}  // namespace pipetrain
