#include "schedules.hpp"

#include <array>
#include <string>
#include <vector>

#include <spdlog/fmt/fmt.h>

#include "base/error.hpp"
#include "base/suggest.hpp"
#include "order/orders.hpp"
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
        "v_timeprest reads the newest weights only if stages is at most microbatches + 1; "
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
    throw UsageError(
        fmt::format("interleaved_1f1b runs micro-batches in groups of one per {}, so microbatches "
                    "must be a multiple of {}{}; write microbatches = {}",
                    group == r.stages ? "stage" : "replica", group == r.stages ? "stages = " : "",
                    group, nearest_multiples(r.microbatches, group)));
}

void refuse_chimera(const ScheduleRequest& r) {
  if (r.stages % 2 != 0)
    throw UsageError(
        fmt::format("chimera runs two pipelines in opposite directions, which fit together only if "
                    "stages is even; write stages = {}",
                    nearest_multiples(r.stages, 2)));
  if (r.microbatches % 2 != 0)
    throw UsageError(
        fmt::format("chimera sends half of the micro-batches in each direction, so microbatches "
                    "must be even; write microbatches = {}",
                    nearest_multiples(r.microbatches, 2)));
}

void refuse_data_parallel(const ScheduleRequest& r) {
  if (r.microbatches % r.stages != 0)
    throw UsageError(
        fmt::format("data_parallel gives every worker the same number of micro-batches, so "
                    "microbatches must be a multiple of stages = {}; write microbatches = {}",
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
                        "both workers, and opposite transfers run side by side",
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
             .summary = "1f1b with backwards in halves, the weight halves moved into the drain",
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
             .summary = "backwards in halves, two stages per worker, down and up again, equal peak "
                        "activations on all workers; no worker waits if F = I = W and N >= 2P-1",
             .source = "Qi et al., arXiv 2401.10241, ZB-V",
             .order = &orders::zb_v,
             .versions = &versions::latest,
             .parts = Parts::TwoPerWorker},
    Schedule{.name = "chimera",
             .summary = "two pipelines in opposite directions over two copies of the model: twice "
                        "the weights, and a smaller bubble where N is no larger than P",
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
    Schedule{.name = "pipemare",
             .summary = "never drained; one version, learning rates by delay (T1), backward "
                        "weights set back along delta (T2)",
             .source = "Yang et al., arXiv 1910.05124, section 3",
             .order = &orders::async_one_f_one_b,
             .versions = &versions::pipemare,
             .training = {.rate = TrainingRules::Rate::ByDelay,
                          .motion = TrainingRules::Motion::CorrectsBackward,
                          .sync_warmup = "1f1b"}},
    Schedule{
        .name = "pipelined_backpropagation",
        .summary = "never drained; one version: forward and backward each read the newest weights",
        .source = "Kosson et al., arXiv 2003.11666, section 2",
        .order = &orders::async_one_f_one_b,
        .versions = &versions::latest},
    Schedule{
        .name = "timeprest",
        .summary =
            "N forwards, one backward, on the newest weights that every stage has made; no stage "
            "waits at the paper's slot times, where a mini-batch's B takes as long as one F",
        .source = "Dutta et al., arXiv 2410.14312",
        .order = &orders::nf1b,
        .busy_order = &orders::busy_nf1b,
        .versions = &versions::committed},
    Schedule{.name = "v_timeprest",
             .summary = "like timeprest, but forward and backward read the newest weights of their "
                        "stage; one version",
             .source = "Dutta et al., arXiv 2509.23241",
             .order = &orders::nf1b,
             .busy_order = &orders::busy_nf1b,
             .versions = &versions::latest,
             .refuse = refuse_v_timeprest},
    Schedule{
        .name = "i_timeprest",
        .summary = "like timeprest, but the backward reads a blend of stale and newest weights",
        .source = "Dutta et al., arXiv 2509.23241",
        .order = &orders::nf1b,
        .busy_order = &orders::busy_nf1b,
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

}  // namespace

std::span<const Schedule> schedules() { return table; }

const Schedule* find_schedule(std::string_view name) {
  for (const auto& row : table)
    if (row.name == name) return &row;
  return nullptr;
}

const Schedule& require_schedule(std::string_view name) {
  if (const auto* found = find_schedule(name)) return *found;
  throw UsageError(fmt::format("there is no schedule `{}`; use one of: {}{}", name, names(),
                               did_you_mean(name)));
}

bool flushes(const Schedule& schedule) { return schedule.order->flushes; }

bool takes_warmup(const Schedule& schedule) {
  return schedule.order->takes_warmup && !schedule.warmup;
}
bool takes_busy(const Schedule& schedule) { return schedule.busy_order != nullptr; }
bool takes_replicas(const Schedule& schedule) { return schedule.replicas != Replicas::None; }
bool takes_gradient_rule(const Schedule& schedule) {
  return !flushes(schedule) && !schedule.versions->keeps_forward;
}
bool takes_segments(const Schedule& schedule) {
  return !flushes(schedule) && takes_warmup(schedule);
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

}  // namespace pipetrain
