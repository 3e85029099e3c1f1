// Replicas in the search: splits against brute force, what a known chain is best run as, and that
// no plan of the search is worse than those of the other planners.
#include <algorithm>
#include <limits>
#include <random>
#include <string>

#include "base/error.hpp"
#include "catch.hpp"
#include "graph/graph.hpp"
#include "plan/bapipe/explore.hpp"
#include "plan/search/replicated_splits.hpp"
#include "plan/search/search.hpp"
#include "plan/search/seeds.hpp"
#include "schedules.hpp"

using namespace pipetrain;

namespace {

constexpr double never = std::numeric_limits<double>::infinity();

// The slowest stage or transfer, as the balance counts it.
double slowest(const ReplicaBalance& in, const ReplicatedSplit& split) {
  double slowest = 0;
  int device = 0;
  for (std::size_t s = 0; s < split.firsts.size(); ++s) {
    const int first = split.firsts[s], end = s + 1 < split.firsts.size()
                                                 ? split.firsts[s + 1]
                                                 : static_cast<int>(in.chain.layers.size());
    double compute = 0, bytes = 0, speed = never;
    for (int l = first; l < end; ++l) {
      compute += in.chain.layers[l].compute_ms();
      bytes += static_cast<double>(in.chain.layers[l].parameter_bytes);
    }
    for (int r = 0; r < split.replicas[s]; ++r) speed = std::min(speed, in.speeds[device++]);
    const int replicas = split.replicas[s];
    slowest = std::max(
        slowest, compute / speed / replicas + (replicas > 1 ? in.sum_ms(replicas, bytes) : 0));
    if (s > 0) slowest = std::max(slowest, in.cut_ms[first - 1]);
  }
  return slowest;
}

// Over all splits in that number of stages, and all ways to give them all devices.
double best_of_all(const ReplicaBalance& in, int stages, ReplicatedSplit part = {{0}, {}}) {
  const int layers = static_cast<int>(in.chain.layers.size());
  int used = 0;
  for (const int r : part.replicas) used += r;
  const int left = static_cast<int>(in.speeds.size()) - used;
  if (static_cast<int>(part.firsts.size()) == stages) {
    if (left < 1) return never;
    part.replicas.push_back(left);
    return slowest(in, part);
  }
  double best = never;
  for (int r = 1; r < left; ++r)
    for (int first = part.firsts.back() + 1; first < layers; ++first) {
      ReplicatedSplit longer = part;
      longer.replicas.push_back(r);
      longer.firsts.push_back(first);
      best = std::min(best, best_of_all(in, stages, longer));
    }
  return best;
}

LayerChain random_chain(std::mt19937& random, int layers) {
  std::uniform_real_distribution<double> time(0.5, 5);
  LayerChain chain{.layers = {}, .microbatch_samples = 16};
  for (int l = 0; l < layers; ++l)
    chain.layers.push_back({.name = "layer" + std::to_string(l),
                            .forward_ms = time(random),
                            .backward_input_ms = time(random),
                            .backward_weight_ms = time(random),
                            .update_ms = time(random) / 10,
                            .sent_bytes = static_cast<std::int64_t>(1e6 * time(random)),
                            .saved_bytes = 1000,
                            .parameter_bytes = static_cast<std::int64_t>(1e6 * time(random))});
  return chain;
}

}  // namespace

TEST_CASE("splits with replicas are as balanced as brute force finds", "[search][replicas]") {
  const auto seed = std::random_device{}();
  CAPTURE(seed);
  std::mt19937 random(seed);
  std::uniform_real_distribution<double> time(0.5, 5);
  for (int n = 0; n < 200; ++n) {
    const int layers = 1 + static_cast<int>(random() % 6), devices = 2 + random() % 4;
    const LayerChain chain = random_chain(random, layers);
    ReplicaBalance in{chain, {}, {}, [](int replicas, double bytes) {
                        return bytes * (replicas - 1) / replicas * 1e-6;
                      }};
    for (int d = 0; d < devices; ++d) in.speeds.push_back(n % 2 == 0 ? 1 : time(random));
    for (int l = 0; l < layers; ++l) in.cut_ms.push_back(time(random));
    const std::vector<ReplicatedSplit> splits = replicated_splits(in);
    CHECK(std::ssize(splits) == std::min(layers, devices - 1));
    for (const ReplicatedSplit& split : splits)
      CHECK(slowest(in, split) == Approx(best_of_all(in, static_cast<int>(split.firsts.size()))));
    for (const ReplicatedSplit& split : evenly_replicated_splits(in))
      CHECK(split.replicas.front() * std::ssize(split.replicas) == devices);
  }
}

TEST_CASE("the search gives replicas to the layers that take long", "[search][replicas]") {
  // The first layer takes three times as long as the rest, and cannot be cut.
  const auto chain = [](int samples, int) {
    LayerChain made{.layers = {}, .microbatch_samples = samples};
    for (const double ms : {3.0, 1.0})
      made.layers.push_back({.name = "layer",
                             .forward_ms = ms * samples,
                             .backward_input_ms = ms * samples,
                             .parameter_bytes = static_cast<std::int64_t>(ms < 2 ? 1e9 : 10)});
    return made;
  };
  const Cluster cluster = cluster_of({{.size = 4, .bytes_per_second = 1e9}});
  SearchInput input{.chain = chain, .cluster = cluster, .minibatch_samples = 64};
  const SearchResult found = search_by_simulation(input);
  CHECK(found.candidate.replicas == std::vector{3, 1});
  CHECK(found.proposal.stages[0].devices == std::vector{0, 1, 2});
  CHECK(found.proposal.stages[1].devices == std::vector{3});
  CHECK_THAT(proposal_text(found.proposal), Contains("replicas = [3, 1]"));
  input.replicates = false;
  const SearchResult straight = search_by_simulation(input);
  CHECK(straight.candidate.replicas.empty());
  CHECK(found.simulated.step_ms < straight.simulated.step_ms);
  // Replicas that are given stay as they are.
  input.replicas = std::vector{2, 1};
  CHECK(search_by_simulation(input).candidate.replicas == std::vector{2, 1});
  input.replicas = std::vector{4, 1};
  CHECK_THROWS_WITH(search_by_simulation(input), Contains("pipeline.replicas = [4, 1]"));
}

TEST_CASE("stages that share a parameter get equal replicas", "[search][replicas]") {
  std::mt19937 random(7);
  const LayerChain whole = random_chain(random, 6);
  const Cluster cluster = cluster_of({{.size = 4, .bytes_per_second = 1e12}});
  SearchInput input{.chain = [&](int samples, int) { return scaled_chain(whole, samples); },
                    .cluster = cluster,
                    .minibatch_samples = 16,
                    .tied_layers = {{0, 5}}};
  const Candidate best = search_by_simulation(input).candidate;
  if (!best.replicas.empty()) CHECK(best.replicas.front() == best.replicas.back());
}

TEST_CASE("no plan of the search is worse than PipeDream's or BaPipe's", "[search][replicas]") {
  const auto seed = std::random_device{}();
  CAPTURE(seed);
  std::mt19937 random(seed);
  for (int n = 0; n < 20; ++n) {
    const LayerChain whole = random_chain(random, 3 + static_cast<int>(random() % 8));
    const auto chain = [&](int samples, int) { return scaled_chain(whole, samples); };
    const Cluster cluster = n % 2 == 0 ? cluster_of({{.size = 4, .bytes_per_second = 1e9}})
                                       : cluster_of({{.size = 2, .bytes_per_second = 5e9},
                                                     {.size = 3, .bytes_per_second = 2e8}});
    SearchInput input{
        .chain = chain, .cluster = cluster, .minibatch_samples = 16, .allow_stale = true};
    input.seeds = seeds_of({.cuts = cut_states(whole, "test"),
                            .chains = {chain(16, 1), chain(8, 1), chain(4, 1), chain(2, 1)},
                            .cluster = cluster,
                            .minibatch_samples = 16});
    REQUIRE(!input.seeds.empty());
    const SearchResult found = search_by_simulation(input);
    int compared = 0;
    for (const ComparedPlan& plan : found.proposal.compared) {
      if (!plan.what.starts_with("pipedream's plan") && !plan.what.starts_with("bapipe's plan"))
        continue;
      CHECK(plan.step_ms.value_or(never) >= found.simulated.step_ms);
      ++compared;
    }
    CHECK(compared > 0);
    // The seeds are among the candidates as they are.
    for (const SearchSeed& of : input.seeds) {
      Candidate candidate{.schedule = find_schedule(of.schedule),
                          .workers = of.workers,
                          .microbatches = of.microbatches,
                          .warmup = of.warmup,
                          .firsts = of.firsts,
                          .replicas = of.replicas};
      const LayerChain its = chain(16 / of.microbatches, 1);
      try {
        const Simulated simulated =
            simulate_candidate({.chain = its, .cluster = cluster}, candidate);
        if (!simulated.shortage) CHECK(found.simulated.step_ms <= simulated.step_ms * (1 + 1e-12));
      } catch (const UsageError&) {  // ragged shares of data_parallel, which nothing here runs
        CHECK(candidate.schedule->parts == Parts::Whole);
      }
    }
  }
}

TEST_CASE("a plan that parts branches is simulated with its own layers", "[search][replicas]") {
  // a, then b and c side by side, then d: PipeDream may cut after a and c.
  const LayerChain chain{.layers = {{.name = "a", .forward_ms = 1, .sent_bytes = 10},
                                    {.name = "b", .forward_ms = 2, .sent_bytes = 20},
                                    {.name = "c", .forward_ms = 4, .sent_bytes = 20},
                                    {.name = "d", .forward_ms = 8}},
                         .microbatch_samples = 2};
  const LayerOrder order{{0, 2, 1, 3}, {0, 7, 0, 0}};
  const LayerChain other = reordered(chain, order);
  CHECK(other.layers[1].name == "c");
  CHECK(other.layers[1].sent_bytes == 14);
  Candidate candidate{.schedule = find_schedule("1f1b"), .workers = 2, .microbatches = 4};
  candidate.firsts = {0, 2};
  const Cluster cluster = cluster_of({{.size = 2, .bytes_per_second = 1e12}});
  const Simulated simulated = simulate_candidate({.chain = other, .cluster = cluster}, candidate);
  CHECK(simulated.stages[0].compute_ms == Approx(5));
  CHECK(simulated.stages[1].compute_ms == Approx(10));
}
