#include "compile/segment_program.hpp"

#include <algorithm>
#include <cmath>
#include <set>

#include "base/check.hpp"
#include "base/error.hpp"
#include "checkpoint/state.hpp"
#include "own_order.hpp"
#include "program/check.hpp"
#include "program/liveness.hpp"
#include "program/passes.hpp"
#include "program/recompute_segments.hpp"
#include "program/text.hpp"
#include "schedules.hpp"

namespace pipetrain {

std::string to_text(const SegmentProgram& segment) {
  std::string text;
  const int round = segment.program.minibatches_per_round();
  const std::string later =
      round == 1 ? "one mini-batch later" : fmt::format("{} mini-batches later", round);
  for (std::size_t w = 0; w < segment.loops.size(); ++w) {
    const auto& list = segment.program.workers[w];
    const Loop& loop = segment.loops[w];
    if (loop.begin == loop.end) continue;
    text += fmt::format("# worker {} repeats {} .. {}, each time {}\n", w,
                        to_text(list[loop.begin]), to_text(list[loop.end - 1]), later);
  }
  return text + to_text(segment.program);
}

bool needs_norm(const Config& config) {
  return config.optimizer.max_norm > 0 || config.training.on_nonfinite == OnNonfinite::Skip;
}

namespace {

// Kernels can update weights by sgd where they make the gradient; no norm is known at that point.
bool fuses_updates(const Config& config) {
  return config.optimizer.kind == OptimizerKind::Sgd && !needs_norm(config);
}

MixRule mix_rule(const PipelineConfig& pipeline) {
  if (!training_rules(pipeline).mixes) return {.extrapolates = keeps_delta(pipeline)};
  return {.extrapolates = keeps_delta(pipeline),
          .share = pipeline.i_timeprest.sigma,
          .lambda = pipeline.i_timeprest.lambda,
          .stash = pipeline.i_timeprest.stash};
}

std::optional<BusyTimes> busy_times(const PipelineConfig& pipeline) {
  const TimePrestConfig& timeprest = pipeline.timeprest;
  if (timeprest.times == TimePrestTimes::Slots || has_own_order(pipeline) ||
      !takes_busy(require_schedule(pipeline.schedule)))
    return {};
  return BusyTimes{timeprest.forward, timeprest.backward, timeprest.in_flight};
}

}  // namespace

bool repeats_program(const Config& config) {
  return has_own_order(config.pipeline) || flushes(require_schedule(config.pipeline.schedule));
}

ScheduleRequest schedule_request(const Config& config, int workers) {
  const PipelineConfig& pipeline = config.pipeline;
  return {.schedule = pipeline.schedule,
          .stages = workers,
          .microbatches = pipeline.microbatches,
          .minibatches = 1,
          .sync_gradients = repeats_program(config) && needs_norm(config),
          .warmup = pipeline.warmup,
          .busy = busy_times(pipeline),
          .vertical_sync = pipeline.vertical_sync,
          .virtual_stages = pipeline.virtual_stages,
          .replicas = pipeline.replicas,
          .mix = mix_rule(pipeline),
          .recompute = pipeline.recompute.rule == Recompute::Stage,
          .segment_stages = stages_of_segment(pipeline),
          .recomputed_gradient = pipeline.gradient_rule == GradientRule::Recompute,
          .early_sends = true,
          .fused_updates = fuses_updates(config)};
}

namespace {

// A combination that the schedule refuses is a mistake in the config.
Program make_training_program(const ScheduleRequest& request) {
  std::string_view key = "pipeline.replicas";
  try {
    refuse_replicas(require_schedule(request.schedule), request);
    key = "pipeline.schedule";
    return make_program(request);
  } catch (const UsageError& error) {
    throw UsageError(fmt::format("{}: {}", key, error.what()));
  }
}

// No backward can make an update that goes by a norm, or that waits for the gradients of other
// stages. If a file fuses one anyway, BU3 becomes B3 U3@1.
Program take_updates_apart(Program program, const Config& config, const std::set<StageId>& tied) {
  for (auto& list : program.workers) {
    std::vector<Instruction> apart;
    for (const Instruction& i : list) {
      apart.push_back(i);
      if (!fuses_update(i.op) || !(needs_norm(config) || tied.contains(i.stage))) continue;
      apart.back().op = without_update(i.op);
      const int update = program.update_for(i.stage, program.minibatch_of(i.microbatch));
      apart.push_back({Op::Update,
                       i.stage,
                       program.name_of_update(i.stage, update),
                       {program.version_made_by(i), AsStored{}}});
    }
    list = std::move(apart);
  }
  return program;
}

// The order itself has been checked; what may fail are updates that wait for other stages.
Program own_program(const Config& config, const ScheduleRequest& request) {
  const OwnOrder own = own_order(config.pipeline);
  Program program = take_updates_apart(complete(own, request), config, request.tied);
  std::set<StageId> tied = request.tied;
  for (const StageId stage : program.syncing_stages()) tied.erase(stage);
  program = add_gradient_sync(std::move(program), tied);
  if (!own.whole) program = finish(std::move(program), request);
  if (request.tied.empty()) return program;
  if (const auto stuck = check(program, with_room_for_activations(program)); !stuck.empty())
    throw UsageError(
        fmt::format("pipeline.schedule: this order cannot train parameters that several layers "
                    "use, whose updates wait for each other: {}; let every stage run its backwards "
                    "before its next update is needed",
                    stuck[0].message));
  return program;
}

}  // namespace

SegmentProgram training_program(const Config& config, int workers, std::int64_t minibatches,
                                const std::set<StageId>& tied) {
  ScheduleRequest request = schedule_request(config, workers);
  request.tied = tied;
  if (has_own_order(config.pipeline)) return {own_program(config, request), {}};
  const Schedule& schedule = require_schedule(request.schedule);
  if (flushes(schedule)) return {make_training_program(request), {}};
  const int enough = steady_minibatches(schedule, request);
  request.minibatches = static_cast<int>(std::min<std::int64_t>(minibatches, enough));
  Program program = make_training_program(request);
  if (minibatches <= enough) return {std::move(program), {}};
  // Rounds fill the difference between the written program and the segment.
  const int round = program.minibatches_per_round();
  const int steady = enough + static_cast<int>((minibatches - enough) % round);
  request.minibatches = steady;
  if (steady > enough) program = make_training_program(request);
  request.minibatches = steady + round;
  auto folded = fold(program, make_program(request));
  PIPETRAIN_CHECK(folded, "schedule {} reaches no steady state in {} mini-batches", schedule.name,
                  steady);
  return {std::move(folded->program), std::move(folded->loops)};
}

Program warmup_program(const Config& config, int workers, const std::set<StageId>& tied) {
  const PipelineConfig& pipeline = config.pipeline;
  return make_program({.schedule = std::string(training_rules(pipeline).sync_warmup),
                       .stages = workers,
                       .microbatches = config.pipeline.microbatches,
                       .sync_gradients = needs_norm(config),
                       .recompute = pipeline.recompute.rule == Recompute::Stage ||
                                    pipeline.recompute.rule == Recompute::Segments ||
                                    pipeline.gradient_rule == GradientRule::Recompute,
                       .early_sends = true,
                       .fused_updates = fuses_updates(config),
                       .tied = tied});
}

bool joins_norms(const Config& config, const Program& program) {
  const bool all_sync = std::ssize(program.syncing_stages()) == program.stages;
  return repeats_program(config) && needs_norm(config) && all_sync && program.sync_groups.empty();
}

std::int64_t warmup_steps(const Config& config, std::int64_t steps_per_epoch) {
  if (training_rules(config.pipeline).sync_warmup.empty()) return 0;
  return config.pipeline.pipemare.sync_warmup_epochs * steps_per_epoch;
}

DeltaRule delta_rule(const Config& config, int workers, StageId stage) {
  const double decay = motion_decay(config.pipeline);
  if (decay == 0) return {};
  const double delay = delays(schedule_request(config, workers))[stage];
  if (training_rules(config.pipeline).motion == TrainingRules::Motion::EstimatesForward)
    return {.keeps = true, .decay = std::pow(decay, 1 / std::max(1.0, delay))};
  if (delay == 0) return {};
  return {.keeps = true, .decay = std::pow(decay, 1 / delay), .correction = delay};
}

MinibatchParts minibatch_parts(const Config& config) {
  const int parts = config.pipeline.microbatches;
  return {.train = parts, .validation = config.validation.batch_size > 0 ? 1 : parts};
}

Program evaluation_program(const Program& training, int microbatches) {
  Program program;
  program.stages = training.stages;
  program.microbatches = microbatches;
  program.workers.resize(training.workers.size());
  if (!training.placement.empty())
    for (StageId s{0}; s.value < program.stages; ++s.value)
      program.placement.push_back({training.worker_of_copy(s, 0)});
  const int last = program.stages - 1;
  for (int turn = 0; turn < microbatches + last; ++turn)
    for (StageId s{std::min(turn, last)}; s.value >= 0; --s.value) {
      const MicrobatchId m{turn - s.value};
      if (m.value >= microbatches) break;
      auto& list = program.workers[program.worker_of(s, m).value];
      list.push_back({s.value == 0 ? Op::LoadInput : Op::ReceiveActivation, s, m, {}});
      list.push_back({Op::Forward, s, m, {}});
      if (s.value < last) list.push_back({Op::SendActivation, s, m, {}});
    }
  return program;
}

bool splits_backward(const Program& program) { return program.has(Op::BackwardInput); }
bool recomputes(const Program& program) { return program.has(Op::Recompute); }

namespace {

// The most micro-batches of a stage that have run their input half and not yet their weight half.
int put_off(const Program& program, StageId stage) {
  int most = 0;
  for (const auto& worker : program.workers) {
    int now = 0;
    for (const Instruction& i : worker) {
      if (i.stage != stage) continue;
      if (i.op == Op::BackwardInput) most = std::max(most, ++now);
      if (without_update(i.op) == Op::BackwardWeight) --now;
    }
  }
  return most;
}

// The most gradient packets that a stage writes, or reads, at once: from the backward that begins
// one until it is sent, or from its receive until the last backward that reads it ends.
int gradients_held(const Program& program, StageId stage, bool sends) {
  std::size_t most = 0;
  for (const auto& worker : program.workers) {
    std::set<MicrobatchId> held;
    for (const Instruction& i : worker) {
      if (i.stage != stage) continue;
      const MicrobatchId packet =
          program.gradients_together
              ? program.last_microbatch_of(program.minibatch_of(i.microbatch))
              : i.microbatch;
      if (sends ? gives_input_gradient(i.op) : i.op == Op::ReceiveGradient) held.insert(packet);
      most = std::max(most, held.size());
      if (sends ? i.op == Op::SendGradient
                : gives_weight_gradient(i.op) &&
                      (packet == i.microbatch || !program.gradients_together))
        held.erase(packet);
    }
  }
  return static_cast<int>(most);
}

// The most packets of activations that a stage has received and still reads.
int activations_held(const Program& program, StageId stage) {
  const bool again = receives_again(program, stage);
  int most = 0;
  for (const auto& worker : program.workers) {
    int now = 0;
    for (const Instruction& i : worker) {
      if (i.stage != stage) continue;
      if (i.op == Op::ReceiveActivation || i.op == Op::ReceiveRecomputed)
        most = std::max(most, ++now);
      if ((again && i.op == Op::Forward) || gives_weight_gradient(i.op)) --now;
    }
  }
  return most;
}

}  // namespace

std::vector<PacketCounts> packet_counts(const Program& program) {
  const std::vector<int> inputs = peak_inputs(program);
  const bool segments = program.has(Op::ReceiveRecomputed);
  std::vector<PacketCounts> counts;
  for (int s = 0; s + 1 < program.stages; ++s) {
    const int under_way =
        gradients_held(program, {s + 1}, true) + 1 + gradients_held(program, {s}, false);
    // In segments a sender may be micro-batches ahead of what its neighbour keeps: one packet is
    // being written, and as many are in flight as find_deadlock() assumes.
    const int in_flight = 2 * (program.syncing_stages().empty() ? 1 : inputs[s]);
    counts.push_back({segments ? activations_held(program, {s + 1}) + 1 + in_flight
                               : inputs[s] + put_off(program, {s + 1}),
                      std::max(3 + put_off(program, {s}), under_way)});
  }
  return counts;
}

}  // namespace pipetrain
