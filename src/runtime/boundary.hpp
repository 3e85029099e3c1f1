// The cuts between stages: the channels in which activations and gradients cross them, in packets
// from the stages' own memory.
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

class DeviceRanks;     // runtime/device_ranks.hpp
class Job;             // transport/job.hpp
struct PipelineNeeds;  // compile/pipeline_sizes.hpp

// The channels from one copy of a stage to one of the next. `gradients` is null if nothing comes
// back (evaluation). If one of the copies is on another rank, they are this rank's ends; if both
// copies are, both channels are null.
struct Lane {
  std::unique_ptr<Channel> activations, gradients;
  bool between_workers = true;  // false: packets are handed over within one, without messages
};

// The cut after one stage. The number of lanes is a multiple of the number of copies on either
// side, and lanes are taken in turn by what the copies take in turn (ProgramShape::copy_of): each
// lane belongs to one pair of copies.
struct Boundary {
  std::vector<Lane> lanes;
  int microbatches = 1;  // in a mini-batch
  bool whole_minibatches = false;
  std::size_t gradient_bytes = 0;  // of one micro-batch, if a packet holds several

  Lane& lane(MicrobatchId m) {
    const int turn = whole_minibatches ? m.value / microbatches : m.value % microbatches;
    return lanes[static_cast<std::size_t>(turn) % lanes.size()];
  }
};

// Makes the channel of one lane; tests inject faults here.
using MakeChannel = std::function<std::unique_ptr<Channel>(const ChannelOptions&)>;

struct BoundaryInput {
  const Plan& plan;
  const LoweredModel& model;
  std::span<const MicrobatchSize> sizes;  // those that cross
  const PipelineNeeds& needs;
  std::span<const std::unique_ptr<StageCopies>> stages;  // outlive the boundaries
  Backend& backend;
  const MakeChannel& make_channel;
  bool spin = false;  // a waiting thread has a core of its own
  // The link over which messages take time; null: they arrive at once.
  const LinkRate* link = nullptr;
  const LinkClock* link_clock = nullptr;
  Ranks ranks = {};
  Job* job = nullptr;              // if there are several ranks
  DeviceRanks* devices = nullptr;  // ... whose stages are on devices
};

// [s]: between stages s and s + 1. Empty if no micro-batch has that mode. Throws a DeviceError as
// StageCopies does, naming the stage.
std::vector<Boundary> make_boundaries(const BoundaryInput& input, Mode mode);

// After a run: waits until nothing that this rank has sent is on its way; or, after a failure, ends
// what is.
void settle(std::span<const Boundary> boundaries);
void abandon(std::span<const Boundary> boundaries) noexcept;

// Wakes everything that waits at them, for good.
void close(std::span<const Boundary> boundaries);

}  // namespace pipetrain
