// The cuts between stages: the channels that activations and gradients take over them, in packets
// of the stages' own memory.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "backend/backend.hpp"
#include "base/ranks.hpp"
#include "compile/lowered_model.hpp"
#include "compile/microbatch_size.hpp"
#include "plan/plan.hpp"
#include "runtime/stage_copies.hpp"
#include "transport/link_channel.hpp"

namespace pipetrain {

class Job;             // transport/job.hpp
struct PipelineNeeds;  // compile/pipeline_sizes.hpp

// The channels from one copy of a stage to one of the next; gradients is null where nothing comes
// back (evaluation). Where one of them is on another rank they are this rank's ends, both null
// where both are.
struct Lane {
  std::unique_ptr<Channel> activations, gradients;
  bool between_workers = true;  // else packets are handed over within one: no messages
};

// The cut after one stage. Lanes are as many as a multiple of the copies on either side, and are
// taken in turn by what those take in turn (ProgramShape::copy_of): each belongs to one pair of
// them.
struct Boundary {
  std::vector<Lane> lanes;
  int microbatches = 1;  // of a mini-batch
  bool whole_minibatches = false;
  std::size_t gradient_bytes = 0;  // of one micro-batch, where a packet holds several

  Lane& lane(MicrobatchId m) {
    const int turn = whole_minibatches ? m.value / microbatches : m.value % microbatches;
    return lanes[static_cast<std::size_t>(turn) % lanes.size()];
  }
};

// Makes the channel of one lane; tests put faults in there.
using MakeChannel = std::function<std::unique_ptr<Channel>(const ChannelOptions&)>;

struct BoundaryInput {
  const Plan& plan;
  const LoweredModel& model;
  std::span<const MicrobatchSize> sizes;  // that cross
  const PipelineNeeds& needs;
  std::span<const std::unique_ptr<StageCopies>> stages;  // outlive the boundaries
  Backend& backend;
  const MakeChannel& make_channel;
  bool spin = false;  // a thread that waits has a core of its own
  // Over which messages take their time; null: they arrive at once.
  const LinkRate* link = nullptr;
  const LinkClock* link_clock = nullptr;
  Ranks ranks = {};
  Job* job = nullptr;  // where there are several
};

// [s]: between stages s and s + 1. None where no micro-batch has that mode. DeviceError: as
// StageCopies, naming the stage.
std::vector<Boundary> make_boundaries(const BoundaryInput& input, Mode mode);

// Wakes all that wait at them, for good.
void close(std::span<const Boundary> boundaries);

}  // namespace pipetrain
