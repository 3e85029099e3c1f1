#include "schedules.hpp"

#include <algorithm>
#include <array>
#include <numeric>
#include <vector>

#include "base/check.hpp"
#include "base/error.hpp"
#include "base/suggest.hpp"
#include "order/orders.hpp"
#include "order/replicas.hpp"
#include "program/check.hpp"
#include "program/passes.hpp"
#include "versions/bind.hpp"
#include "versions/versions.hpp"

namespace pipetrain {
namespace {

// ---- refusals

int equal_replicas(const ScheduleRequest& r) {
  const std::vector<int> replicas = replicas_of(r);
  return replicas.empty() ? 1 : replicas[0];
}

void refuse_2bw(const ScheduleRequest& r) {
  if (r.vertical_sync)
    throw UsageError(
        "pipedream_2bw already reads one version on every stage; write vertical_sync = false");
  const int replicas = equal_replicas(r);
  const int least = replicas * (warmup_forwards(r.warmup, r.stages, {0}) + 1);
  if (r.microbatches < least)
    throw UsageError(fmt::format(
        "pipedream_2bw keeps two versions, which is enough only for {} micro-batches or more with "
        "{} stages{} and warmup = \"{}\"; write microbatches = {}",
        least, r.stages, replicas > 1 ? fmt::format(" of {} replicas", replicas) : "",
        warmup_words[static_cast<std::size_t>(r.warmup)], least));
}

void refuse_v_timeprest(const ScheduleRequest& r) {
  if (r.stages > r.microbatches + 1)
    throw UsageError(fmt::format(
        "v_timeprest reads the newest weights only where stages are at most microbatches + 1; "
        "write microbatches = {}, or stages = {}",
        r.stages - 1, r.microbatches + 1));
}

// The multiples of `step` on both sides of `value`, such as "4 or 8"; none is 0.
std::string nearest_multiples(int value, int step) {
  const int below = value / step * step, above = below + step;
  return below > 0 ? fmt::format("{} or {}", below, above) : std::to_string(above);
}

void refuse_interleaved(const ScheduleRequest& r) {
  const int group = workers_of(r);
  if (r.microbatches % group != 0)
    throw UsageError(fmt::format(
        "interleaved_1f1b runs micro-batches in groups of one per {}, so that microbatches must "
        "be a multiple of {}{}; write microbatches = {}",
        group == r.stages ? "stage" : "replica", group == r.stages ? "stages = " : "", group,
        nearest_multiples(r.microbatches, group)));
}

void refuse_chimera(const ScheduleRequest& r) {
  if (r.stages % 2 != 0)
    throw UsageError(fmt::format(
        "chimera runs two pipelines in opposite directions, which do not clash only where stages "
        "is even; write stages = {}",
        nearest_multiples(r.stages, 2)));
  if (r.microbatches % 2 != 0)
    throw UsageError(
        fmt::format("chimera sends half of the micro-batches in each direction, so that "
                    "microbatches must be even; write microbatches = {}",
                    nearest_multiples(r.microbatches, 2)));
}

void refuse_data_parallel(const ScheduleRequest& r) {
  if (r.microbatches % r.stages != 0)
    throw UsageError(fmt::format(
        "data_parallel gives every worker as many micro-batches, so that microbatches must be a "
        "multiple of stages = {}; write microbatches = {}",
        r.stages, nearest_multiples(r.microbatches, r.stages)));
}

// ---- the table

const std::array table{
    Schedule{.name = "gpipe",
             .summary = "all forwards, then all backwards, one flush per mini-batch",
             .source = "Huang et al., arXiv 1811.06965, section 2.2",
             .order = &orders::gpipe,
             .versions = &versions::latest,
             .replicas = Replicas::Any},
    Schedule{.name = "1f1b",
             .summary = "one forward, one backward, at most P micro-batches in flight, one flush "
                        "per mini-batch",
             .source = "Narayanan et al., arXiv 2006.09503, section 3.2 (PipeDream-Flush)",
             .order = &orders::one_f_one_b,
             .versions = &versions::latest,
             .replicas = Replicas::Any},
    Schedule{.name = "1f1b_sno",
             .summary = "1f1b for devices that do not compute while they send: a transfer occupies "
                        "both workers, opposite ones run side by side",
             .source = "Zhao et al., arXiv 2012.12544 (1F1B-SNO)",
             .order = &orders::one_f_one_b,
             .versions = &versions::latest,
             .warmup = Warmup::OneFOneB,
             .charges = Charges::Workers},
    Schedule{.name = "fbp_as",
             .summary = "1f1b with the full warm-up, for devices on which a forward and a backward "
                        "run at the same time",
             .source = "Zhao et al., arXiv 2012.12544 (FBP-AS)",
             .order = &orders::one_f_one_b,
             .versions = &versions::latest,
             .warmup = Warmup::Full,
             .charges = Charges::SideBySide},
    Schedule{.name = "interleaved_1f1b",
             .summary = "1f1b over several stages per worker: a smaller bubble for more transfers",
             .source = "Narayanan et al., arXiv 2104.04473, section 2.2",
             .order = &orders::interleaved,
             .versions = &versions::latest,
             .refuse = refuse_interleaved,
             .parts = Parts::VirtualStages,
             .replicas = Replicas::Equal},
    Schedule{.name = "zb_h1",
             .summary = "1f1b with backwards in halves, the weight halves put off into the drain",
             .source = "Qi et al., arXiv 2401.10241, section 2.1",
             .order = &orders::zb_h1,
             .versions = &versions::latest,
             .replicas = Replicas::Any},
    Schedule{.name = "zb_h2",
             .summary = "backwards in halves and a long warm-up, at most 2P-1 micro-batches in "
                        "flight; no stage waits if F = I = W and N >= 2P-1",
             .source = "Qi et al., arXiv 2401.10241, section 2.2",
             .order = &orders::zb_h2,
             .versions = &versions::latest,
             .replicas = Replicas::Any},
    Schedule{.name = "zb_v",
             .summary = "backwards in halves, two stages per worker, down and up again, all keep "
                        "the same; no worker waits if F = I = W and N >= 2P-1",
             .source = "Qi et al., arXiv 2401.10241, ZB-V",
             .order = &orders::zb_v,
             .versions = &versions::latest,
             .parts = Parts::TwoPerWorker},
    Schedule{.name = "chimera",
             .summary = "two pipelines in opposite directions over two copies of the model: twice "
                        "the weights, and about half of 1f1b's bubble if N = P",
             .source = "Li and Hoefler, arXiv 2107.06925, section 3",
             .order = &orders::chimera,
             .versions = &versions::latest,
             .refuse = refuse_chimera},
    Schedule{.name = "data_parallel",
             .summary =
                 "no pipeline: a copy of the model on every worker, gradients summed at the update",
             .source = "Li et al., arXiv 2006.15704, section 2",
             .order = &orders::data_parallel,
             .versions = &versions::latest,
             .refuse = refuse_data_parallel,
             .parts = Parts::Whole},
    Schedule{
        .name = "pipedream",
        .summary = "never drained; a stage stashes the weights of every forward for its backward",
        .source = "Narayanan et al., SOSP 2019, section 3",
        .order = &orders::async_one_f_one_b,
        .versions = &versions::stash,
        .vertical = &versions::vertical_sync,
        .replicas = Replicas::TakeMinibatches},
    Schedule{.name = "pipedream_2bw",
             .summary = "never drained; two versions of the weights, gradients one update old",
             .source = "Narayanan et al., arXiv 2006.09503, section 3.1",
             .order = &orders::async_one_f_one_b,
             .versions = &versions::double_buffered,
             .refuse = refuse_2bw,
             .replicas = Replicas::Equal},
    Schedule{
        .name = "pipemare",
        .summary =
            "never drained; one version, rates by delay (T1), backward set back along delta (T2)",
        .source = "Yang et al., arXiv 1910.05124, section 3",
        .order = &orders::async_one_f_one_b,
        .versions = &versions::pipemare,
        .training = {.rate = TrainingRules::Rate::ByDelay,
                     .motion = TrainingRules::Motion::CorrectsBackward,
                     .sync_warmup = "1f1b"}},
    Schedule{.name = "pipelined_backpropagation",
             .summary =
                 "never drained; one version, read by forward and backward as it is when they come",
             .source = "Kosson et al., arXiv 2003.11666, section 2",
             .order = &orders::async_one_f_one_b,
             .versions = &versions::latest},
    Schedule{.name = "timeprest",
             .summary =
                 "N forwards, one backward, on the newest weights that every stage has made; no "
                 "stage waits at the paper's slot times, a mini-batch's B as long as one F",
             .source = "Dutta et al., arXiv 2410.14312",
             .order = &orders::nf1b,
             .versions = &versions::committed},
    Schedule{
        .name = "v_timeprest",
        .summary =
            "as timeprest, forward and backward on the newest weights of their stage; one version",
        .source = "Dutta et al., arXiv 2509.23241",
        .order = &orders::nf1b,
        .versions = &versions::latest,
        .refuse = refuse_v_timeprest},
    Schedule{.name = "i_timeprest",
             .summary = "as timeprest, backward on a blend of stale and newest weights",
             .source = "Dutta et al., arXiv 2509.23241",
             .order = &orders::nf1b,
             .versions = &versions::intermediate,
             .training = {.motion = TrainingRules::Motion::EstimatesForward, .mixes = true}},
};

std::string names() {
  std::string text;
  for (const auto& row : table) text += (text.empty() ? "" : ", ") + std::string(row.name);
  return text;
}

std::string did_you_mean(std::string_view name) {
  std::vector<std::string_view> known;
  for (const auto& row : table) known.push_back(row.name);
  return suggest(name, known);
}

void require_positive(std::string_view what, int value) {
  if (value < 1) throw UsageError(fmt::format("{} = {}: it is at least 1", what, value));
}

}  // namespace

std::span<const Schedule> schedules() { return table; }

const Schedule* find_schedule(std::string_view name) {
  for (const auto& row : table)
    if (row.name == name) return &row;
  return nullptr;
}

const Schedule& require_schedule(std::string_view name) {
  if (const auto* found = find_schedule(name)) return *found;
  throw UsageError(fmt::format("no schedule is called `{}`; use one of: {}{}", name, names(),
                               did_you_mean(name)));
}

Program make_program(const ScheduleRequest& request) {
  return make_program(require_schedule(request.schedule), request);
}

bool flushes(const Schedule& schedule) { return schedule.order->flushes; }

bool takes_warmup(const Schedule& schedule) {
  return schedule.order->takes_warmup && !schedule.warmup;
}
bool takes_replicas(const Schedule& schedule) { return schedule.replicas != Replicas::None; }
bool takes_gradient_rule(const Schedule& schedule) {
  return !flushes(schedule) && !schedule.versions->keeps_forward;
}

Costs charged(const Schedule& schedule, Costs costs) {
  if (schedule.charges != Charges::Channels) costs.charges = schedule.charges;
  return costs;
}

int model_parts(const Schedule& schedule, int workers, int virtual_stages) {
  switch (schedule.parts) {
    case Parts::OnePerWorker:
      return workers;
    case Parts::VirtualStages:
      return workers * virtual_stages;
    case Parts::TwoPerWorker:
      return 2 * workers;
    case Parts::Whole:
      return 1;
  }
  return workers;
}

Indexed<double, StageId> delays(const ScheduleRequest& request) {
  Indexed<double, StageId> delays;
  for (StageId s{0}; s.value < request.stages; ++s.value)
    delays.push_back(static_cast<double>(warmup_forwards(request.warmup, request.stages, s)) /
                     request.microbatches);
  return delays;
}

namespace {

// ProgramShape::minibatches_per_round where replicas take whole mini-batches.
int round_of(const ScheduleRequest& request) {
  int round = 1;
  for (const int count : replicas_of(request)) round = std::lcm(round, count);
  return round;
}

}  // namespace

int steady_minibatches(const Schedule& schedule, const ScheduleRequest& request) {
  if (flushes(schedule)) return 1;
  // A stage is at most so many micro-batches ahead of its own backwards, and its versions so many
  // updates behind; a mini-batch begun and one not ended.
  const int ahead = 2 * request.stages + 1;
  if (schedule.replicas == Replicas::TakeMinibatches && !replicas_of(request).empty())
    return 2 * (2 * workers_of(request) + 1 + round_of(request));
  return 2 * ((ahead + request.microbatches - 1) / request.microbatches) + 2;
}

int shown_minibatches(const Schedule& schedule, const ScheduleRequest& request) {
  if (flushes(schedule)) return 1;
  if (schedule.replicas == Replicas::TakeMinibatches && !replicas_of(request).empty())
    return workers_of(request) + 2 * round_of(request);
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

// Stages that share a parameter wait for each other, the copies of another stage for themselves.
// Empty where one group is all there is.
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
  const OrderInput input{.stages = request.stages,
                         .microbatches = request.microbatches,
                         .minibatches = request.minibatches,
                         .warmup = request.warmup,
                         .virtual_stages = request.virtual_stages};
  const ReplicaInput replicas{replicas_of(request), schedule.replicas == Replicas::TakeMinibatches};
  CompactOrder order = replicas.replicas.empty() ? schedule.order->compact(input)
                                                 : replicated(*schedule.order, input, replicas);
  order.sync_groups = sync_groups(order, request);
  return order;
}

Program make_program(const Schedule& schedule, const ScheduleRequest& asked) {
  const ScheduleRequest request = settled(schedule, asked);
  const Program program = finish(complete(to_program(make_order(schedule, request)),
                                          policy_of(schedule, request), request, flushes(schedule)),
                                 request);
  CheckOptions options = request.tied.empty() && !program.has_copies()
                             ? CheckOptions{}
                             : with_room_for_activations(program);
  options.rendezvous = schedule.charges == Charges::Workers;
  const auto problems = check(program, options);
  PIPETRAIN_CHECK(problems.empty(), "schedule {} makes an ill-formed program\n{}", schedule.name,
                  show(program, problems));
  return program;
}

}  // namespace pipetrain
