// From the row of a schedule to a checked program.
#include <algorithm>
#include <numeric>
#include <set>
#include <string_view>
#include <vector>

#include <spdlog/fmt/fmt.h>

#include "base/check.hpp"
#include "base/error.hpp"
#include "order/replicas.hpp"
#include "program/check.hpp"
#include "program/passes.hpp"
#include "program/recompute_segments.hpp"
#include "schedules.hpp"
#include "versions/bind.hpp"

namespace pipetrain {
namespace {

void require_positive(std::string_view what, int value) {
  if (value < 1) throw UsageError(fmt::format("{} = {}: it must be at least 1", what, value));
}

OrderInput order_input(const ScheduleRequest& request) {
  return {.stages = request.stages,
          .microbatches = request.microbatches,
          .minibatches = request.minibatches,
          .warmup = request.warmup,
          .busy = request.busy.value_or(BusyTimes{}),
          .virtual_stages = request.virtual_stages};
}

const Order& order_of(const Schedule& schedule, const ScheduleRequest& request) {
  return request.busy ? *schedule.busy_order : *schedule.order;
}

// ProgramShape::minibatches_per_round, if replicas take whole mini-batches.
int round_of(const ScheduleRequest& request) {
  int round = 1;
  for (const int count : replicas_of(request)) round = std::lcm(round, count);
  return round;
}

}  // namespace

Indexed<double, StageId> delays(const ScheduleRequest& request) {
  Indexed<double, StageId> delays;
  for (StageId s{0}; s.value < request.stages; ++s.value)
    delays.push_back(static_cast<double>(warmup_forwards(request.warmup, request.stages, s)) /
                     request.microbatches);
  return delays;
}

int steady_minibatches(const Schedule& schedule, const ScheduleRequest& request) {
  if (flushes(schedule)) return 1;
  if (request.busy) {
    // What begins the last round is in flight while the next mini-batches are admitted. Versions
    // are bound on a clock of slots, which takes up to two mini-batches per stage to settle.
    const Repetition steady = schedule.busy_order->repetition(order_input(request));
    return steady.first + steady.minibatches + 2 * request.stages +
           settled(*request.busy, request.stages, request.microbatches).in_flight;
  }
  // A stage is at most this many micro-batches ahead of its own backwards, and its versions this
  // many updates behind. The 2 mini-batches added: one that has begun and one that has not ended.
  const int ahead = 2 * request.stages + 1;
  if (schedule.replicas == Replicas::TakeMinibatches && !replicas_of(request).empty())
    return 2 * (2 * workers_of(request) + 1 + round_of(request));
  return 2 * ((ahead + request.microbatches - 1) / request.microbatches) + 2;
}

int shown_minibatches(const Schedule& schedule, const ScheduleRequest& request) {
  if (flushes(schedule)) return 1;
  if (schedule.replicas == Replicas::TakeMinibatches && !replicas_of(request).empty())
    return workers_of(request) + 2 * round_of(request);
  if (request.busy) return steady_minibatches(schedule, request) - 2 * request.stages;
  // A round is one mini-batch. The warm-up of stage 0 takes `filled` of them, and the stage keeps
  // its most versions after `filled` more. nF1B runs as far ahead as the double warm-up.
  const Warmup warmup = takes_warmup(schedule) ? request.warmup : Warmup::Double;
  const int ahead = warmup_forwards(warmup, request.stages, {0});
  const int filled = (ahead + request.microbatches - 1) / request.microbatches;
  return filled + std::max(2, filled);
}

Program complete(Program order, const VersionPolicy& versions, const ScheduleRequest& request,
                 bool flushes) {
  return complete_bound(
      bind_versions(add_updates(std::move(order)), versions, bind_rule_of(request, flushes)),
      request, flushes);
}

BindRule bind_rule_of(const ScheduleRequest& request, bool flushes) {
  return {.mix = request.mix, .delays = flushes ? Indexed<double, StageId>{} : delays(request)};
}

const VersionPolicy& policy_of(const Schedule& schedule, const ScheduleRequest& request) {
  return request.vertical_sync && schedule.vertical ? *schedule.vertical : *schedule.versions;
}

// The group of each stage: stages that share a parameter wait for each other, the copies of any
// other stage among themselves. Empty if all are in one group.
Indexed<int, StageId> sync_groups(const ProgramShape& shape, const ScheduleRequest& request) {
  const std::set<StageId> syncing = syncing_stages(shape, request);
  Indexed<int, StageId> groups(shape.stages, -1);
  int next = request.tied.empty() ? 0 : 1;
  for (const StageId s : syncing) groups[s] = request.tied.contains(s) ? 0 : next++;
  return request.sync_gradients || next < 2 ? Indexed<int, StageId>{} : groups;
}

Program complete_bound(Program program, const ScheduleRequest& request, bool flushes) {
  if (request.recomputed_gradient && !flushes)
    program = add_recomputes(std::move(program), RecomputeBy::Backward);
  else if (request.segment_stages > 0)
    program = add_segment_recomputes(std::move(program), request.segment_stages);
  else if (request.recompute)
    program = add_recomputes(
        program, keeps_forward_versions(program) ? RecomputeBy::Forward : RecomputeBy::Backward);
  program = add_loads(std::move(program));
  program.sync_groups = sync_groups(program, request);
  if (const std::set<StageId> stages = syncing_stages(program, request); !stages.empty())
    program = add_gradient_sync(std::move(program), stages);
  return add_transfers(std::move(program));
}

std::set<StageId> syncing_stages(const ProgramShape& shape, const ScheduleRequest& request) {
  std::set<StageId> stages = request.tied;
  for (StageId s{0}; s.value < shape.stages; ++s.value)
    if (request.sync_gradients || shape.copies_of(s) > 1) stages.insert(s);
  return stages;
}

Program finish(Program program, const ScheduleRequest& request) {
  if (request.early_sends) program = send_gradients_early(std::move(program));
  if (request.fused_updates) program = fuse_updates(std::move(program));
  return program;
}

ScheduleRequest settled(const Schedule& schedule, ScheduleRequest request) {
  if (schedule.warmup) request.warmup = *schedule.warmup;
  if (schedule.charges != Charges::Channels) request.early_sends = false;
  return request;
}

CompactOrder make_order(const Schedule& schedule, const ScheduleRequest& request) {
  require_positive("stages", request.stages);
  require_positive("microbatches", request.microbatches);
  require_positive("steps", request.minibatches);
  require_positive("virtual_stages", request.virtual_stages);
  refuse_replicas(schedule, request);
  if (schedule.refuse) schedule.refuse(request);
  const OrderInput input = order_input(request);
  const ReplicaInput replicas{replicas_of(request), schedule.replicas == Replicas::TakeMinibatches};
  CompactOrder order = replicas.replicas.empty() ? order_of(schedule, request).compact(input)
                                                 : replicated(*schedule.order, input, replicas);
  order.sync_groups = sync_groups(order, request);
  return order;
}

Program make_program(const Schedule& schedule, const ScheduleRequest& asked) {
  const ScheduleRequest request = settled(schedule, asked);
  const Program program = finish(complete(to_program(make_order(schedule, request)),
                                          policy_of(schedule, request), request, flushes(schedule)),
                                 request);
  const bool runs_ahead = !request.tied.empty() || program.has_copies() || request.busy;
  CheckOptions options = runs_ahead ? with_room_for_activations(program) : CheckOptions{};
  options.rendezvous = schedule.charges == Charges::Workers;
  const auto problems = check(program, options);
  PIPETRAIN_CHECK(problems.empty(), "schedule {} makes an ill-formed program\n{}", schedule.name,
                  show(program, problems));
  return program;
}

Program make_program(const ScheduleRequest& request) {
  return make_program(require_schedule(request.schedule), request);
}

}  // namespace pipetrain
