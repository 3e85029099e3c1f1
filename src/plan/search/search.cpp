#include "plan/search/search.hpp"

#include <spdlog/fmt/fmt.h>
#include <spdlog/fmt/ranges.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <tuple>
#include <utility>

#include "base/bytes_text.hpp"
#include "base/counted.hpp"
#include "base/error.hpp"
#include "graph/graph.hpp"
#include "plan/search/looked.hpp"
#include "plan/search/replicated_splits.hpp"
#include "plan/search/splits.hpp"
#include "schedules.hpp"

namespace pipetrain {
namespace {

// How many candidates of each schedule have their splits searched.
constexpr int beam = 3;

class Search {
 public:
  explicit Search(const SearchInput& in) : in_(in) {}

  SearchResult run() {
    if (in_.workers && *in_.workers > device_count(in_.cluster))
      throw UsageError(
          fmt::format("pipeline.stages = {} is more than the {} devices of the cluster; write "
                      "fewer stages, or name more devices",
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
    if (!c.order) return chain_of(c.microbatches, c.devices());
    auto& chain = reordered_[{c.order.get(), c.microbatches, c.devices()}];
    if (chain.layers.empty()) chain = reordered(chain_of(c.microbatches, c.devices()), *c.order);
    return chain;
  }
  const LayerChain& chain_of(int microbatches, int devices) {
    auto& chain = chains_[{microbatches, devices}];
    if (chain.layers.empty()) chain = in_.chain(in_.minibatch_samples / microbatches, devices);
    return chain;
  }

  std::vector<int> worker_counts() const {
    if (in_.workers) return {*in_.workers};
    std::vector<int> counts;
    for (int w = 1; w <= device_count(in_.cluster); ++w) counts.push_back(w);
    return counts;
  }

  std::vector<int> microbatch_counts() const {
    if (in_.microbatches) return {*in_.microbatches};
    return equal_divisions(in_.minibatch_samples);
  }

  std::vector<int> virtual_stage_counts(const Schedule& schedule) const {
    if (schedule.parts != Parts::VirtualStages) return {1};
    return in_.virtual_stages ? std::vector{*in_.virtual_stages} : std::vector{2, 4};
  }

  bool is_allowed(const Schedule& schedule) const {
    if (in_.schedule) return schedule.name == *in_.schedule;
    if (in_.warmup && !takes_warmup(schedule)) return false;
    // Other schedules charge what only devices of their own kind do.
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
                     .virtual_stages = virtual_stages,
                     .replicas = given_replicas(workers)});
      }
      if (in_.replicates && !in_.replicas) look_at_replicas(schedule);
      for (const SearchSeed& seed : in_.seeds) look_at_seed(schedule, seed);
    }
  }

  // One number is for every stage; a list of another length is refused, as by a schedule's rule.
  std::vector<int> given_replicas(int workers) const {
    if (!in_.replicas || in_.replicas->size() > 1) return in_.replicas.value_or(std::vector<int>{});
    if (in_.replicas->front() == 1) return {};
    return std::vector<int>(static_cast<std::size_t>(workers), in_.replicas->front());
  }

  // ---- replicas

  void look_at_replicas(const Schedule& schedule) {
    if (!takes_replicas(schedule) || device_count(in_.cluster) == 1 || in_.firsts) return;
    for (const int microbatches : microbatch_counts())
      for (const ReplicatedSplit& split : replicated(microbatches))
        if ((!in_.workers || std::ssize(split.replicas) == *in_.workers) &&
            !is_long_round(schedule, split.replicas))
          look_at_fixed({.schedule = &schedule,
                         .workers = static_cast<int>(split.replicas.size()),
                         .microbatches = microbatches,
                         .firsts = split.firsts,
                         .replicas = split.replicas});
  }

  // If replicas take mini-batches in turn, a round has one turn of each and is long to simulate.
  bool is_long_round(const Schedule& schedule, const std::vector<int>& replicas) const {
    if (schedule.replicas != Replicas::TakeMinibatches) return false;
    int round = 1;
    for (const int count : replicas) round = std::lcm(round, count);
    return round > 4 * device_count(in_.cluster);
  }

  const std::vector<ReplicatedSplit>& replicated(int microbatches) {
    const auto [at, made] = replicated_.try_emplace(microbatches);
    if (!made) return at->second;
    const int devices = device_count(in_.cluster);
    const LayerChain& chain = chain_of(microbatches, devices);
    const Wire wire = route(in_.cluster, 0, 1).wire;
    ReplicaBalance balance{chain, {}, cut_ms(chain, devices), [=](int replicas, double bytes) {
                             return 2 * (replicas - 1) * travel_ms(wire, bytes / replicas) /
                                    microbatches;
                           }};
    for (const Cluster::Device& device : in_.cluster.devices)
      balance.speeds.push_back(device.speed);
    at->second = replicated_splits(balance);
    for (ReplicatedSplit& split : evenly_replicated_splits(balance))
      at->second.push_back(std::move(split));
    return at->second;
  }

  std::set<Warmup> warmups(const SearchSeed& seed) const {
    return in_.warmup ? std::set{*in_.warmup} : std::set{Warmup::OneFOneB, seed.warmup};
  }

  void look_at_seed(const Schedule& schedule, const SearchSeed& seed) {
    const bool copied = require_schedule(seed.schedule).parts == Parts::Whole,
               cut = schedule.parts == Parts::OnePerWorker && !copied;
    if ((!cut && schedule.name != seed.schedule) || (in_.workers && *in_.workers != seed.workers) ||
        (in_.firsts && *in_.firsts != seed.firsts) ||
        (!seed.replicas.empty() && (in_.replicas || !in_.replicates)))
      return;
    std::vector<int> counts = microbatch_counts();
    if (!in_.microbatches) counts.push_back(seed.microbatches);
    for (const int microbatches : counts)
      for (const Warmup warmup : warmups(seed))
        if (warmup == Warmup::OneFOneB || takes_warmup(schedule)) {
          const bool added = look_at_fixed({.schedule = &schedule,
                                            .workers = seed.workers,
                                            .microbatches = microbatches,
                                            .warmup = warmup,
                                            .firsts = seed.firsts,
                                            .replicas = seed.replicas,
                                            .order = seed.order});
          if (added && schedule.name == seed.schedule && microbatches == seed.microbatches &&
              warmup == seed.warmup)
            as_planned_.push_back({seed.of, looked_.back()});
        }
  }

  // Do stages that share a parameter have equal replicas?
  bool ties_fit(const Candidate& c) const {
    const auto stage_of = [&](int layer) {
      return std::upper_bound(c.firsts.begin(), c.firsts.end(), layer) - c.firsts.begin() - 1;
    };
    for (const std::vector<int>& layers : in_.tied_layers)
      for (const int layer : layers)
        if (c.replicas[stage_of(layer)] != c.replicas[stage_of(layers[0])]) return false;
    return true;
  }

  // Tries a candidate with its own split. What a schedule refuses is left out, since it has been
  // tried without replicas.
  bool look_at_fixed(const Candidate& candidate) {
    if (candidate.devices() > device_count(in_.cluster) ||
        (!candidate.replicas.empty() && !ties_fit(candidate)) ||
        candidate.firsts.back() >= std::ssize(chain_of(candidate).layers))
      return false;
    Looked looked = looked_at(candidate);
    if (!looked.refused.empty()) return false;
    looked_.push_back(std::move(looked));
    return true;
  }

  // ---- each candidate

  // On one worker, all schedules that flush run alike.
  bool one_is_enough(const Schedule& schedule) const {
    return !in_.schedule && &schedule != find_schedule("1f1b");
  }

  // A cut between the first two workers represents all cuts.
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
    if (parts > std::ssize(chain.layers) || candidate.devices() > device_count(in_.cluster) ||
        (!candidate.replicas.empty() && std::ssize(candidate.replicas) != candidate.workers))
      return;
    if (in_.firsts && std::ssize(*in_.firsts) != parts) return;
    if (in_.firsts)
      candidate.firsts = *in_.firsts;
    else
      try {
        candidate.firsts =
            balanced_firsts({chain, speeds(candidate), cut_ms(chain, candidate.workers)});
      } catch (const UsageError& error) {  // the schedule cannot run with these values
        looked_.push_back({candidate, {}, error.what()});
        return;
      }
    looked_.push_back(looked_at(candidate));
  }

  Candidate with_given(Candidate candidate) const {
    if (in_.warmup && takes_warmup(*candidate.schedule)) candidate.warmup = *in_.warmup;
    if (in_.recompute) candidate.recompute = *in_.recompute;
    return candidate;
  }

  Looked looked_at(const Candidate& candidate) {
    Looked looked{with_given(candidate), {}, {}};
    try {
      looked.simulated = simulate(looked.candidate);
      if (looked.simulated->shortage && !in_.recompute) try_recomputed(looked);
    } catch (const UsageError& error) {
      looked.refused = error.what();
    }
    return looked;
  }

  // If activations do not fit, they may be recomputed.
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

  // Of each part: of the slowest device that has a copy, for replicas together.
  std::vector<double> speeds(const Candidate& candidate) const {
    const ProgramShape shape = shape_of(candidate);
    std::vector<double> speeds;
    for (int p = 0; p < candidate.parts(); ++p) {
      const int copies = shape.copies_of({p});
      double slowest = Looked::never;
      for (int c = 0; c < copies; ++c)
        slowest = std::min(slowest, in_.cluster.devices[shape.worker_of_copy({p}, c).value].speed);
      speeds.push_back(candidate.replicas.empty() ? slowest : slowest * copies);
    }
    return speeds;
  }

  void search_splits(Looked& looked) {
    if (in_.firsts || looked.candidate.order) return;
    const int layers = static_cast<int>(chain_of(looked.candidate).layers.size());
    const RatedSplit best = best_firsts(looked.candidate.firsts, layers, [&](const Firsts& firsts) {
      Candidate candidate = looked.candidate;
      candidate.firsts = firsts;
      if (!candidate.replicas.empty() && !ties_fit(candidate)) return Looked::never;
      const Simulated simulated = simulate(candidate);
      return simulated.shortage ? Looked::never : simulated.step_ms;
    });
    if (best.rating >= looked.step_ms()) return;
    looked.candidate.firsts = best.firsts;
    looked.simulated = simulate(looked.candidate);
  }

  // Keeps the first that fits when compiled. Those that do not are no longer among those that run.
  void choose_exactly() {
    constexpr int tries = 12;
    for (int t = 0; t < tries && t < std::ssize(looked_) && looked_[t].runs(); ++t) {
      set_memory(*looked_[t].simulated, in_.exact_memory(looked_[t].candidate),
                 input_of(looked_[t].candidate));
      if (looked_[t].runs()) break;
    }
    std::ranges::stable_sort(looked_, {}, &Looked::step_ms);
  }

  // Reports why there is no plan: the candidate that is short of least memory, otherwise the rules.
  [[noreturn]] void refuse() {
    const Looked* least = nullptr;
    for (const Looked& l : looked_)
      if (l.simulated &&
          (!least || l.simulated->shortage->bytes < least->simulated->shortage->bytes))
        least = &l;
    if (least)
      throw UsageError(
          fmt::format("no plan fits the memory: in the closest one ({}) {}; use more devices, "
                      "smaller mini-batches, or a larger limit",
                      text_of(least->candidate), shortage_text(*least->simulated)));
    if (looked_.empty() && in_.firsts)
      throw UsageError(
          fmt::format("no plan: pipeline.split makes {} parts of the model, but no schedule has "
                      "that many on these devices; leave it out, or name other stages",
                      in_.firsts->size()));
    if (looked_.empty() && in_.replicas)
      throw UsageError(
          fmt::format("no plan: pipeline.replicas = [{}] fits no number of stages on these {} "
                      "devices; leave it out, or write fewer",
                      fmt::join(*in_.replicas, ", "), device_count(in_.cluster)));
    const std::int64_t layers = std::ssize(chain_of(1, 1).layers);
    if (looked_.empty() && in_.workers && *in_.workers > layers)
      throw UsageError(
          fmt::format("pipeline.stages = {}, but the model has {} and every stage needs one; write "
                      "at most {}",
                      *in_.workers, counted(layers, "layer"), layers));
    throw UsageError(
        looked_.empty() || looked_[0].refused.empty()
            ? "no plan: the model has fewer layers than the pipeline has stages; use fewer devices"
            : looked_[0].refused);
  }

  SearchResult found() {
    const Candidate& best = looked_[0].candidate;
    const SearchOutcome outcome{.looked = looked_,
                                .seeds = as_planned_,
                                .whole = whole_models(in_),
                                .chain = chain_of(best),
                                .devices = device_count(in_.cluster),
                                .left_stale_out = !in_.allow_stale && !in_.schedule};
    SearchResult result = {best, *looked_[0].simulated, proposal_of(outcome)};
    result.proposal.sends = candidate_sends(input_of(best), best);
    return result;
  }

  const SearchInput& in_;
  std::map<std::pair<int, int>, LayerChain> chains_;  // by micro-batches and devices
  std::map<std::tuple<const LayerOrder*, int, int>, LayerChain> reordered_;
  std::map<int, std::vector<ReplicatedSplit>> replicated_;  // by micro-batches
  std::vector<Looked> looked_;
  std::vector<LookedSeed> as_planned_;
};

}  // namespace

SearchResult search_by_simulation(const SearchInput& input) { return Search(input).run(); }

}  // namespace pipetrain
