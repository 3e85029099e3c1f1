#include "plan/bapipe/candidate.hpp"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "graph/graph.hpp"
#include "plan/bapipe/costs.hpp"
#include "plan/bapipe/layer_split.hpp"
#include "plan/bapipe/partition.hpp"

namespace pipetrain {
namespace {

constexpr double kRounding = 1e-12;  // relative, between sums in different orders

PipelineSpec spec_of(const BapipeInput& input, const LayerChain& chain,
                     const BapipeSchedule& schedule) {
  PipelineSpec spec{.schedule = &schedule,
                    .microbatches = input.minibatch_samples / chain.microbatch_samples,
                    .speeds = {},
                    .memory = device_memory(input),
                    .wires = neighbour_wires(input.cluster, false)};
  for (const Cluster::Device& device : input.cluster.devices) spec.speeds.push_back(device.speed);
  return spec;
}

// A cut with its costs and its name in the comparison.
struct NamedCut {
  std::string what;
  StageCuts cuts;
  CutCosts costs;
};

// One schedule over one chain, and everything that its candidates are made from.
struct ScheduledChain {
  const BapipeInput& input;
  const LayerChain& chain;
  PipelineSpec spec;
  PipelineCosts costs{chain, spec};

  NamedCut named(const std::string& what, const StageCuts& cuts) const {
    return {what, cuts, costs_of(costs, cuts)};
  }
  double step_of(const NamedCut& cut) const { return step_ms(spec, cut.costs); }
  bool may_share_layers() const {
    return input.split_layers && spec.schedule->platform == Execution::Async;
  }

  // About the stage that exceeds its device by most; empty: all fit.
  std::string memory_objection(const CutCosts& cut) const {
    int worst = -1;
    double most = 0;
    for (int s = 0; s < spec.stages(); ++s) {
      if (costs.fits(s, cut.stages[s].bytes)) continue;
      const double excess = cut.stages[s].bytes - static_cast<double>(*spec.memory[s]);
      if (excess > most) worst = s, most = excess;
    }
    if (worst < 0) return "";
    const double bytes = cut.stages[worst].bytes;
    return fmt::format("stage {} {}", worst, too_large(input, worst, bytes));
  }

  // Empty: the schedule hides all transfers.
  std::string link_objection(const CutCosts& cut) const {
    if (hides_transfers(spec, cut)) return "";
    const PipelinePace pace = pace_of(cut);
    const auto longest = std::ranges::max_element(cut.transfers_ms) - cut.transfers_ms.begin();
    return fmt::format(
        "the transfer from stage {} to {} takes {:.6g} ms, more than {} = {:.6g} ms "
        "hides",
        longest, longest + 1, pace.transfer_ms, spec.schedule->hides,
        spec.schedule->hidden_ms(pace));
  }

  Proposal proposal(const StageCuts& cuts, const CutCosts& cut) const {
    const PipelinePace pace = pace_of(cut);
    Proposal made;
    made.schedule = spec.schedule->name;
    made.microbatches = spec.microbatches;
    made.step_ms = step_ms(spec, cut);
    made.bottleneck_ms = std::max(pace.compute_ms(), pace.transfer_ms);
    for (int s = 0; s < spec.stages(); ++s) {
      const int end = s + 1 < spec.stages() ? cuts[s + 1] : costs.layers();
      made.stages.push_back(
          {.first_layer = cuts[s],
           .last_layer = end - 1,
           .devices = {s},
           .time_ms = cut.stages[s].compute_ms(),
           .memory_bytes = static_cast<std::int64_t>(std::ceil(cut.stages[s].bytes))});
      if (s + 1 < spec.stages()) made.stages.back().transfer_ms = 2 * cut.transfers_ms[s];
    }
    return made;
  }

  Proposal proposal(const StageCuts& cuts, const LayerSplit& split) const {
    Proposal made = proposal(cuts, split.costs);
    ProposedStage& left = made.stages[static_cast<std::size_t>(split.boundary)];
    ProposedStage& right = made.stages[static_cast<std::size_t>(split.boundary) + 1];
    left.last_layer = right.first_layer = split.layer;
    left.last_share = split.left_share;
    right.first_share = 1 - split.left_share;
    // A stage with nothing but its part of the layer both begins and ends with it.
    if (left.first_layer == split.layer) left.first_share = left.last_share;
    if (right.last_layer == split.layer) right.last_share = right.first_share;
    return made;
  }
};

// How a cut differs from the balanced one.
std::string how_it_is_cut(bool for_memory, bool for_links) {
  if (for_memory && for_links) return "cut to fit the memory and to hide transfers";
  if (for_memory) return "cut to fit the memory";
  return for_links ? "cut to hide transfers" : "cut where little is sent";
}

std::string joined(const std::string& a, const std::string& b, std::string_view between) {
  return a.empty() || b.empty() ? a + b : fmt::format("{}{}{}", a, between, b);
}

BapipeCandidate with_shared_layer(const ScheduledChain& pipeline, const NamedCut& cut,
                                  const LayerSplit& split) {
  const std::string& layer = pipeline.chain.layers[static_cast<std::size_t>(split.layer)].name;
  return {fmt::format("{}, layer '{}' shared by stages {} and {}", cut.what, layer, split.boundary,
                      split.boundary + 1),
          "", pipeline.proposal(cut.cuts, split)};
}

// The balanced cut if it will do, otherwise the best one.
std::vector<BapipeCandidate> cut_candidates(const ScheduledChain& pipeline,
                                            const std::string& what) {
  const NamedCut balanced = pipeline.named(what, balanced_partition(pipeline.costs));
  const std::string memory = pipeline.memory_objection(balanced.costs),
                    link = pipeline.link_objection(balanced.costs);
  const auto best = best_partition(pipeline.costs);
  if (!best) return {{what, joined(memory, link, "; ") + "; no other cut avoids that", {}}};

  std::vector<BapipeCandidate> candidates;
  const bool objected = !memory.empty() || !link.empty();
  if (objected) candidates.push_back({what + ", balanced", joined(memory, link, "; "), {}});
  NamedCut chosen = pipeline.named(what, *best);
  if (!objected && pipeline.step_of(balanced) <= pipeline.step_of(chosen) * (1 + kRounding))
    chosen = balanced;
  else
    chosen.what += ", " + how_it_is_cut(!memory.empty(), !link.empty());
  candidates.push_back({chosen.what, "", pipeline.proposal(chosen.cuts, chosen.costs)});
  if (!pipeline.may_share_layers()) return candidates;
  if (const auto split = best_layer_split(pipeline.costs, chosen.cuts))
    candidates.push_back(with_shared_layer(pipeline, chosen, *split));
  return candidates;
}

}  // namespace

std::vector<BapipeCandidate> pipeline_candidates(const BapipeInput& input, const LayerChain& chain,
                                                 const BapipeSchedule& schedule) {
  const ScheduledChain pipeline{input, chain, spec_of(input, chain, schedule)};
  const std::string what =
      fmt::format("{}, {} micro-batch{} of {}", schedule.name, pipeline.spec.microbatches,
                  pipeline.spec.microbatches == 1 ? "" : "es", chain.microbatch_samples);
  const int layers = pipeline.costs.layers(), devices = pipeline.spec.stages();
  if (layers >= devices) return cut_candidates(pipeline, what);
  return {
      {what, fmt::format("{} devices need a layer each, but there are {}", devices, layers), {}}};
}

}  // namespace pipetrain
