#include "plan/search/search.hpp"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <limits>
#include <map>
#include <utility>

#include "base/bytes_text.hpp"
#include "base/error.hpp"
#include "plan/search/splits.hpp"

namespace pipetrain {
namespace {

constexpr double never = std::numeric_limits<double>::infinity();
// Candidates whose splits are searched, of each schedule.
constexpr int beam = 3;

// A candidate that was looked at, or why it was not.
struct Looked {
  Candidate candidate;
  std::optional<Simulated> simulated;
  std::string refused;  // the schedule's rule

  bool runs() const { return simulated && !simulated->shortage; }
  double step_ms() const { return runs() ? simulated->step_ms : never; }
};

std::string shortage_text(const Simulated& simulated) {
  const auto [worker, bytes] = *simulated.shortage;
  return fmt::format("worker {} needs {} and lacks {}", worker,
                     bytes_text(static_cast<std::size_t>(simulated.memory_bytes[worker])),
                     bytes_text(static_cast<std::size_t>(bytes)));
}

class Search {
 public:
  explicit Search(const SearchInput& in) : in_(in) {}

  SearchResult run() {
    if (in_.workers && *in_.workers > device_count(in_.cluster))
      throw UsageError(fmt::format(
          "pipeline.stages = {} are more than the {} devices of the cluster; write fewer "
          "stages, or name more devices",
          *in_.workers, device_count(in_.cluster)));
    look_at_all();
    std::ranges::stable_sort(looked_, {}, &Looked::step_ms);
    std::map<const Schedule*, int> searched;
    for (Looked& looked : looked_)
      if (looked.runs() && looked.candidate.parts() > 1 &&
          searched[looked.candidate.schedule]++ < beam)
        search_splits(looked);
    std::ranges::stable_sort(looked_, {}, &Looked::step_ms);
    if (in_.exact_memory) choose_exactly();
    if (looked_.empty() || !looked_[0].runs()) refuse();
    return found();
  }

 private:
  const LayerChain& chain_of(const Candidate& c) {
    auto& chain = chains_[{c.microbatches, c.workers}];
    if (chain.layers.empty()) chain = in_.chain(in_.minibatch_samples / c.microbatches, c.workers);
    return chain;
  }

  std::vector<int> worker_counts() const {
    if (in_.workers) return {*in_.workers};
    std::vector<int> counts;
    for (int w = 1; w <= device_count(in_.cluster); ++w) counts.push_back(w);
    return counts;
  }

  // Those that divide the mini-batch, doubling: its micro-batches are of one size.
  std::vector<int> microbatch_counts() const {
    if (in_.microbatches) return {*in_.microbatches};
    std::vector<int> counts;
    for (int n = 1; n <= in_.minibatch_samples && n <= 256; n *= 2)
      if (in_.minibatch_samples % n == 0) counts.push_back(n);
    return counts;
  }

  std::vector<int> virtual_stage_counts(const Schedule& schedule) const {
    if (schedule.parts != Parts::VirtualStages) return {1};
    return in_.virtual_stages ? std::vector{*in_.virtual_stages} : std::vector{2, 4};
  }

  bool is_allowed(const Schedule& schedule) const {
    if (in_.schedule) return schedule.name == *in_.schedule;
    // Others charge what only devices of their own kind do.
    if (schedule.charges != Charges::Channels) return false;
    return in_.allow_stale || flushes(schedule);
  }

  void look_at_all() {
    for (const Schedule& schedule : schedules()) {
      if (!is_allowed(schedule)) continue;
      for (const int workers : worker_counts()) {
        if (workers == 1 && one_is_enough(schedule)) continue;
        for (const int microbatches : microbatch_counts())
          for (const int virtual_stages : virtual_stage_counts(schedule))
            look_at({.schedule = &schedule,
                     .workers = workers,
                     .microbatches = microbatches,
                     .virtual_stages = virtual_stages});
      }
    }
  }

  // On one worker all schedules that flush run alike.
  bool one_is_enough(const Schedule& schedule) const {
    return !in_.schedule && &schedule != find_schedule("1f1b");
  }

  // A cut between neighbours of the first workers stands for all.
  std::vector<double> cut_ms(const LayerChain& chain, int workers) const {
    std::vector<double> ms;
    if (workers == 1) return ms;
    const Wire wire = route(in_.cluster, 0, 1).wire;
    for (const ChainLayer& layer : chain.layers)
      ms.push_back(travel_ms(wire, static_cast<double>(layer.sent_bytes)));
    return ms;
  }

  void look_at(Candidate candidate) {
    const int parts = candidate.parts();
    const LayerChain& chain = chain_of(candidate);
    if (parts > std::ssize(chain.layers)) return;
    if (in_.firsts && std::ssize(*in_.firsts) != parts) return;
    candidate.firsts =
        in_.firsts ? *in_.firsts
                   : balanced_firsts({chain, speeds(candidate), cut_ms(chain, candidate.workers)});
    Looked looked{candidate, {}, {}};
    try {
      looked.simulated = simulate(candidate);
      if (looked.simulated->shortage) try_recomputed(looked);
    } catch (const UsageError& error) {
      looked.refused = error.what();
    }
    looked_.push_back(std::move(looked));
  }

  // Where activations do not fit, they may be made again.
  void try_recomputed(Looked& looked) {
    Candidate candidate = looked.candidate;
    candidate.recompute = true;
    Simulated simulated = simulate(candidate);
    if (!simulated.shortage) looked = {std::move(candidate), std::move(simulated), {}};
  }

  Simulated simulate(const Candidate& candidate) {
    return simulate_candidate(input_of(candidate), candidate);
  }

  CandidateInput input_of(const Candidate& candidate) {
    return {.chain = chain_of(candidate),
            .cluster = in_.cluster,
            .copies_beside_weights = in_.copies_beside_weights,
            .memory_limit_bytes = in_.memory_limit_bytes};
  }

  std::vector<double> speeds(const Candidate& candidate) const {
    std::vector<double> speeds;
    for (int p = 0; p < candidate.parts(); ++p)
      speeds.push_back(in_.cluster.devices[p % candidate.workers].speed);
    return speeds;
  }

  void search_splits(Looked& looked) {
    if (in_.firsts) return;
    const int layers = static_cast<int>(chain_of(looked.candidate).layers.size());
    const RatedSplit best = best_firsts(looked.candidate.firsts, layers, [&](const Firsts& firsts) {
      Candidate candidate = looked.candidate;
      candidate.firsts = firsts;
      const Simulated simulated = simulate(candidate);
      return simulated.shortage ? never : simulated.step_ms;
    });
    if (best.rating >= looked.step_ms()) return;
    looked.candidate.firsts = best.firsts;
    looked.simulated = simulate(looked.candidate);
  }

  // The first that fits when it is compiled. What does not is no longer among those that run.
  void choose_exactly() {
    constexpr int tries = 12;
    for (int t = 0; t < tries && t < std::ssize(looked_) && looked_[t].runs(); ++t) {
      set_memory(*looked_[t].simulated, in_.exact_memory(looked_[t].candidate),
                 input_of(looked_[t].candidate));
      if (looked_[t].runs()) break;
    }
    std::ranges::stable_sort(looked_, {}, &Looked::step_ms);
  }

  // Why there is no plan: what lacks least memory, or else the rules.
  [[noreturn]] void refuse() const {
    const Looked* least = nullptr;
    for (const Looked& l : looked_)
      if (l.simulated &&
          (!least || l.simulated->shortage->bytes < least->simulated->shortage->bytes))
        least = &l;
    if (least)
      throw UsageError(fmt::format(
          "no plan fits the memory: under the nearest ({}) {}; use more devices, smaller "
          "mini-batches, or a larger limit",
          text_of(least->candidate), shortage_text(*least->simulated)));
    if (looked_.empty() && in_.firsts)
      throw UsageError(fmt::format(
          "no plan: pipeline.split is for {} parts of the model, which no schedule has on "
          "these devices; leave it out, or name other stages",
          in_.firsts->size()));
    throw UsageError(
        looked_.empty() || looked_[0].refused.empty()
            ? "no plan: the model has fewer layers than the pipeline has stages; use fewer devices"
            : looked_[0].refused);
  }

  SearchResult found() const {
    const Looked& best = looked_[0];
    SearchResult found{best.candidate, *best.simulated, {}};
    Proposal& p = found.proposal;
    p.objective = "simulate";
    p.schedule = best.candidate.schedule->name;
    p.microbatches = best.candidate.microbatches;
    p.step_ms = best.simulated->step_ms;
    p.bottleneck_ms = best.simulated->bottleneck_ms;
    p.workers = best.candidate.workers;
    p.keys = keys_of(best.candidate);
    p.stages = stages_of(best);
    p.compared = compared();
    set_speedups(p);
    return found;
  }

  static std::string keys_of(const Candidate& c) {
    std::string keys = fmt::format("schedule = \"{}\"\n", c.schedule->name);
    if (c.virtual_stages > 1) keys += fmt::format("virtual_stages = {}\n", c.virtual_stages);
    if (c.recompute) keys += "recompute = \"stage\"\n";
    return keys;
  }

  std::vector<ProposedStage> stages_of(const Looked& best) const {
    std::vector<ProposedStage> stages;
    const Candidate& c = best.candidate;
    const int layers = static_cast<int>(chains_.at({c.microbatches, c.workers}).layers.size());
    const bool copies = c.schedule->parts == Parts::Whole;
    for (int p = 0; p < std::ssize(c.firsts); ++p) {
      ProposedStage stage{
          .first_layer = c.firsts[p],
          .last_layer = p + 1 < std::ssize(c.firsts) ? c.firsts[p + 1] - 1 : layers - 1,
          .replicas = copies ? c.workers : 1,
          .time_ms = best.simulated->stages[p].compute_ms,
          .memory_bytes = best.simulated->memory_bytes[best.simulated->stages[p].worker]};
      for (int r = 0; r < stage.replicas; ++r) stage.devices.push_back(copies ? r : p % c.workers);
      stages.push_back(std::move(stage));
    }
    return stages;
  }

  // The best of each schedule, beside the chosen one.
  std::vector<ComparedPlan> compared() const {
    std::vector<ComparedPlan> rows;
    std::map<const Schedule*, const Looked*> best;
    for (const Looked& l : looked_) best.try_emplace(l.candidate.schedule, &l);
    for (const Schedule& schedule : schedules()) {
      const auto at = best.find(&schedule);
      if (at != best.end()) rows.push_back(row_of(*at->second));
    }
    std::ranges::stable_sort(rows, {},
                             [](const ComparedPlan& row) { return row.step_ms.value_or(never); });
    if (!in_.allow_stale && !in_.schedule)
      rows.push_back({.what = "schedules that never drain",
                      .reason = "their weights are stale; plan --allow-stale or "
                                "pipeline.allow_stale = true compares them"});
    return rows;
  }

  ComparedPlan row_of(const Looked& looked) const {
    ComparedPlan row{.what = text_of(looked.candidate)};
    if (looked.runs()) {
      row.step_ms = looked.step_ms();
      if (&looked != &looked_[0])
        row.reason =
            fmt::format("{:.1f}% slower", 100 * (looked.step_ms() / looked_[0].step_ms() - 1));
    } else if (looked.simulated) {
      row.reason = shortage_text(*looked.simulated);
    } else {
      row.reason = looked.refused;
    }
    return row;
  }

  void set_speedups(Proposal& p) const {
    double one = never, copies = never;
    for (const Looked& l : looked_) {
      if (l.candidate.workers == 1) one = std::min(one, l.step_ms());
      if (l.candidate.schedule->parts == Parts::Whole) copies = std::min(copies, l.step_ms());
    }
    if (one == never) return;
    p.speedup = one / p.step_ms;
    if (copies != never) p.data_parallel_speedup = one / copies;
  }

  const SearchInput& in_;
  std::map<std::pair<int, int>, LayerChain> chains_;  // by micro-batches and workers
  std::vector<Looked> looked_;
};

}  // namespace

SearchResult search_by_simulation(const SearchInput& input) { return Search(input).run(); }

}  // namespace pipetrain
