#include "plan/search/looked.hpp"

#include <spdlog/fmt/fmt.h>
#include <spdlog/fmt/ranges.h>

#include <algorithm>
#include <map>
#include <utility>

#include "base/bytes_text.hpp"
#include "graph/graph.hpp"

namespace pipetrain {
namespace {

std::string keys_of(const Candidate& c) {
  std::string keys = fmt::format("schedule = \"{}\"\n", c.schedule->name);
  if (c.virtual_stages > 1) keys += fmt::format("virtual_stages = {}\n", c.virtual_stages);
  if (!c.replicas.empty()) keys += fmt::format("replicas = [{}]\n", fmt::join(c.replicas, ", "));
  if (c.warmup != Warmup::OneFOneB)
    keys += fmt::format("warmup = \"{}\"\n", warmup_words[static_cast<std::size_t>(c.warmup)]);
  if (c.recompute) keys += "recompute = \"stage\"\n";
  return keys;
}

std::vector<ProposedStage> stages_of(const Looked& best, const LayerChain& chain) {
  std::vector<ProposedStage> stages;
  const Candidate& c = best.candidate;
  const int layers = static_cast<int>(chain.layers.size());
  const bool copies = c.schedule->parts == Parts::Whole;
  int next_device = 0;
  for (int p = 0; p < std::ssize(c.firsts); ++p) {
    ProposedStage stage{
        .first_layer = c.firsts[p],
        .last_layer = p + 1 < std::ssize(c.firsts) ? c.firsts[p + 1] - 1 : layers - 1,
        .replicas = copies               ? c.workers
                    : c.replicas.empty() ? 1
                                         : c.replicas[p % c.workers],
        .time_ms = best.simulated->stages[p].compute_ms,
        .memory_bytes = best.simulated->memory_bytes[best.simulated->stages[p].worker]};
    if (p % c.workers == 0) next_device = 0;
    for (int r = 0; r < stage.replicas; ++r) stage.devices.push_back(next_device++);
    for (int l = stage.first_layer; c.order && l <= stage.last_layer; ++l)
      stage.layer_names.push_back(chain.layers[l].name);
    stages.push_back(std::move(stage));
  }
  return stages;
}

ComparedPlan row_of(const Looked& looked, const Looked& best) {
  ComparedPlan row{.what = text_of(looked.candidate)};
  if (looked.runs()) {
    row.step_ms = looked.step_ms();
    if (&looked != &best)
      row.reason =
          looked.step_ms() > best.step_ms()
              ? fmt::format("{:.1f}% slower", 100 * (looked.step_ms() / best.step_ms() - 1))
              : "no faster";
  } else if (looked.simulated) {
    row.reason = shortage_text(*looked.simulated);
  } else {
    row.reason = looked.refused;
  }
  return row;
}

// The best of each schedule other than the chosen one.
std::vector<ComparedPlan> compared(const SearchOutcome& outcome) {
  std::vector<ComparedPlan> rows;
  std::map<const Schedule*, const Looked*> best;
  for (const Looked& l : outcome.looked) best.try_emplace(l.candidate.schedule, &l);
  for (const Schedule& schedule : schedules()) {
    const auto at = best.find(&schedule);
    if (at != best.end()) rows.push_back(row_of(*at->second, outcome.looked[0]));
  }
  for (const auto& [of, looked] : outcome.seeds) {
    ComparedPlan row = row_of(looked, outcome.looked[0]);
    row.what = fmt::format("{}'s plan: {}", of, row.what);
    if (std::ranges::find(rows, row.what, &ComparedPlan::what) == rows.end())
      rows.push_back(std::move(row));
  }
  std::ranges::stable_sort(
      rows, {}, [](const ComparedPlan& row) { return row.step_ms.value_or(Looked::never); });
  if (outcome.left_stale_out)
    rows.push_back({.what = "schedules that never drain",
                    .reason = "their weights are stale; plan --allow-stale or pipeline.allow_stale "
                              "= true compares them"});
  return rows;
}

void set_speedups(Proposal& p, const std::vector<Looked>& all) {
  double one = Looked::never, copies = Looked::never;
  for (const Looked& l : all) {
    if (l.candidate.devices() == 1) one = std::min(one, l.step_ms());
    if (l.candidate.schedule->parts == Parts::Whole) copies = std::min(copies, l.step_ms());
  }
  if (one == Looked::never) return;
  p.speedup = one / p.step_ms;
  if (copies != Looked::never) p.data_parallel_speedup = one / copies;
}

}  // namespace

Proposal proposal_of(const SearchOutcome& outcome) {
  const Looked& best = outcome.looked[0];
  Proposal p;
  p.objective = "simulate";
  p.schedule = best.candidate.schedule->name;
  p.microbatches = best.candidate.microbatches;
  p.step_ms = best.simulated->step_ms;
  p.bottleneck_ms = best.simulated->bottleneck_ms;
  p.workers = best.candidate.workers;
  p.keys = keys_of(best.candidate);
  p.stages = stages_of(best, outcome.chain);
  p.compared = compared(outcome);
  set_speedups(p, outcome.looked);
  return p;
}

std::string shortage_text(const Simulated& simulated) {
  const auto [worker, bytes] = *simulated.shortage;
  return fmt::format("worker {} needs {} and is short of {}", worker,
                     bytes_text(static_cast<std::size_t>(simulated.memory_bytes[worker])),
                     bytes_text(static_cast<std::size_t>(bytes)));
}

}  // namespace pipetrain
