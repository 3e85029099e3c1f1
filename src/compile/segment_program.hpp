// The programs that a config's runs are made of, and how much of everything they need.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "compile/delta_rule.hpp"
#include "compile/microbatch_size.hpp"
#include "config/config.hpp"
#include "program/fold.hpp"
#include "schedules.hpp"

namespace pipetrain {

// What a segment of training runs. Under a schedule that drains at every update, that is the
// program of one mini-batch, again and again. Under one that never does, it is one program of all
// its mini-batches, folded if it is long. An order of the user's own is the program of as many
// mini-batches as it has, again and again.
struct SegmentProgram {
  Program program;
  std::vector<Loop> loops;  // per worker; empty: not folded
};
// The program's text; if it is folded, comments say what is repeated.
std::string to_text(const SegmentProgram& segment);

// Do updates need the norm of their gradient: to clip it, or to skip what is not finite?
bool needs_norm(const Config& config);

// Is a segment one program that runs again and again, drained in between?
bool repeats_program(const Config& config);

// `workers` are the schedule's stages P.
ScheduleRequest schedule_request(const Config& config, int workers);
// For a segment of this many mini-batches. `tied`: the stages that share parameters.
SegmentProgram training_program(const Config& config, int workers, std::int64_t minibatches,
                                const std::set<StageId>& tied = {});
// The first epochs, if the schedule makes them synchronous (PipeMare, T3): one mini-batch of them.
Program warmup_program(const Config& config, int workers, const std::set<StageId>& tied = {});
// Do updates need the norm of the whole model's gradient? Then every stage hands in its own first.
bool joins_norms(const Config& config, const Program& program);
// How many mini-batches, from the start of the training, run under it.
std::int64_t warmup_steps(const Config& config, std::int64_t steps_per_epoch);

// How a stage keeps delta, the mean motion of its weights.
DeltaRule delta_rule(const Config& config, int workers, StageId stage);
// How many micro-batches a mini-batch is cut into. Validation uses training's number, unless
// validation.batch_size says how many samples run at once.
MinibatchParts minibatch_parts(const Config& config);
// Forwards only: `microbatches` of them through every stage, where training has its first copy. In
// turn t stage s runs micro-batch t - s, the later stages of a worker first. So a worker with
// several stages begins further micro-batches while others run the first one, each stage holds one
// input at a time, and channels need room for one message.
Program evaluation_program(const Program& training, int microbatches = 1);

bool splits_backward(const Program& program);
bool recomputes(const Program& program);

// How many packets the channels between stages s and s + 1 need so that no order waits for one that
// a later instruction of its own would free. A receiver that defers its weight halves holds what
// they read.
struct PacketCounts {
  int activations = 0;  // held by the sender from forward to backward; where stages recompute in
                        // segments, by the receiver for as long as it reads them
  int gradients = 0;    // one being written, one in flight, one being read
};
std::vector<PacketCounts> packet_counts(const Program& program);
inline constexpr int evaluation_packets = 2;

}  // namespace pipetrain
