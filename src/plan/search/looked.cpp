#include "plan/search/looked.hpp"

#include <spdlog/fmt/fmt.h>
#include <spdlog/fmt/ranges.h>

#include <algorithm>
#include <map>
#include <utility>

#include "base/bytes_text.hpp"
#include "base/error.hpp"
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

std::int64_t fullest_bytes(const Simulated& simulated, const std::vector<int>& workers) {
  std::int64_t most = 0;
  for (const int w : workers) most = std::max(most, simulated.memory_bytes[w]);
  return most;
}

std::vector<ProposedStage> stages_of(const Looked& best, const LayerChain& chain) {
  std::vector<ProposedStage> stages;
  const Candidate& c = best.candidate;
  const int layers = static_cast<int>(chain.layers.size());
  for (int p = 0; p < std::ssize(c.firsts); ++p) {
    const auto& [compute_ms, workers, transfer_ms] = best.simulated->stages[p];
    ProposedStage stage{
        .first_layer = c.firsts[p],
        .last_layer = p + 1 < std::ssize(c.firsts) ? c.firsts[p + 1] - 1 : layers - 1,
        .replicas = static_cast<int>(workers.size()),
        .devices = workers,
        .time_ms = compute_ms,
        .memory_bytes = fullest_bytes(*best.simulated, workers)};
    for (int l = stage.first_layer; c.order && l <= stage.last_layer; ++l)
      stage.layer_names.push_back(chain.layers[l].name);
    if (p + 1 < std::ssize(c.firsts)) stage.transfer_ms = 2 * transfer_ms;
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

Looked whole_model_on(const Cluster& cluster, const SearchInput& in, const Candidate& candidate) {
  Looked looked{candidate, {}, {}};
  try {
    const LayerChain chain =
        in.chain(in.minibatch_samples / candidate.microbatches, candidate.workers);
    const CandidateInput input{.chain = chain,
                               .cluster = cluster,
                               .copies_beside_weights = in.copies_beside_weights,
                               .memory_limit_bytes = in.memory_limit_bytes};
    looked.simulated = simulate_candidate(input, looked.candidate);
    if (!looked.simulated->shortage) return looked;
    looked.candidate.recompute = true;
    looked.simulated = simulate_candidate(input, looked.candidate);
  } catch (const UsageError& error) {  // no times on this number of threads
    looked.refused = error.what();
  }
  return looked;
}

void set_speedups(Proposal& p, const SearchOutcome& outcome) {
  const Looked* one = nullptr;
  const Looked* copies = nullptr;
  const auto keep = [](const Looked*& best, const Looked& looked) {
    if (looked.runs() && (!best || looked.step_ms() < best->step_ms())) best = &looked;
  };
  for (const std::vector<Looked>* all : {&outcome.looked, &outcome.whole})
    for (const Looked& l : *all) {
      if (l.candidate.devices() == 1)
        keep(one, l);
      else if (l.candidate.schedule->parts == Parts::Whole)
        keep(copies, l);
    }
  if (!one) return;
  p.speedup = one->step_ms() / p.step_ms;
  if (!copies) return;
  p.data_parallel_speedup = one->step_ms() / copies->step_ms();
  if (copies->candidate.workers != outcome.devices)
    p.data_parallel_devices = copies->candidate.workers;
}

}  // namespace

std::vector<Looked> whole_models(const SearchInput& in) {
  const Cluster& cluster = in.whole_cluster ? *in.whole_cluster : in.cluster;
  std::vector<int> counts = equal_divisions(in.minibatch_samples);
  if (in.microbatches) counts.push_back(*in.microbatches);
  std::vector<Looked> models;
  const auto add = [&](const Cluster& on, int workers, int count) {
    models.push_back(whole_model_on(
        on, in,
        {.schedule = find_schedule("data_parallel"), .workers = workers, .microbatches = count}));
  };
  const std::vector<Cluster> single = single_devices(cluster);
  for (const int count : counts) {
    for (const Cluster& device : single) add(device, 1, count);
    for (int workers = 2; workers <= std::min(count, device_count(cluster)); ++workers)
      if (count % workers == 0) add(cluster, workers, count);
  }
  return models;
}

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
  set_speedups(p, outcome);
  return p;
}

std::string shortage_text(const Simulated& simulated) {
  const auto [worker, bytes] = *simulated.shortage;
  return fmt::format("worker {} needs {} and is short of {}", worker,
                     bytes_text(static_cast<std::size_t>(simulated.memory_bytes[worker])),
                     bytes_text(static_cast<std::size_t>(bytes)));
}

}  // namespace pipetrain
