// The cuts against every possible cut.
#include "plan/bapipe/partition.hpp"

#include <algorithm>
#include <functional>
#include <limits>

#include "catch.hpp"
#include "graph/graph.hpp"
#include "random_pipelines.hpp"

using namespace pipetrain;

namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();

void for_each_cut(int layers, int stages, StageCuts& cuts,
                  const std::function<void(const StageCuts&)>& look) {
  if (static_cast<int>(cuts.size()) == stages) return look(cuts);
  for (int first = cuts.back() + 1; first < layers; ++first) {
    cuts.push_back(first);
    for_each_cut(layers, stages, cuts, look);
    cuts.pop_back();
  }
}

// What a partition is worth, added up layer by layer.
struct Worth {
  double slowest_ms = 0, forward_ms = 0, transfer_ms = 0;
  bool fits = true;
};

Worth worth_of(const LayerChain& chain, const PipelineSpec& spec, const StageCuts& cuts) {
  Worth worth;
  for (std::size_t s = 0; s < cuts.size(); ++s) {
    const std::size_t end =
        s + 1 < cuts.size() ? static_cast<std::size_t>(cuts[s + 1]) : chain.layers.size();
    double forward = 0, backward = 0, saved = 0, weights = 0;
    for (auto l = static_cast<std::size_t>(cuts[s]); l < end; ++l) {
      forward += chain.layers[l].forward_ms;
      backward += chain.layers[l].backward_ms();
      saved += static_cast<double>(chain.layers[l].saved_bytes);
      weights += static_cast<double>(chain.layers[l].parameter_bytes);
    }
    const double load = forward / spec.speeds[s] + backward / spec.speeds[s];
    if (load > worth.slowest_ms ||
        (load == worth.slowest_ms && forward / spec.speeds[s] > worth.forward_ms))
      worth.slowest_ms = load, worth.forward_ms = forward / spec.speeds[s];
    const int kept =
        std::min(spec.microbatches, spec.schedule->depth(spec.stages(), static_cast<int>(s)));
    if (spec.memory[s] && kept * saved + 2 * weights > static_cast<double>(*spec.memory[s]))
      worth.fits = false;
    if (s + 1 < cuts.size())
      worth.transfer_ms = std::max(
          worth.transfer_ms,
          spec.wires[s].latency_ms + 1000 * static_cast<double>(chain.layers[end - 1].sent_bytes) /
                                         spec.wires[s].bytes_per_second);
  }
  return worth;
}

// By the table of the paper's schedules, written down once more.
bool hides(const std::string_view schedule, const Worth& worth) {
  if (schedule == "1f1b_as") return worth.transfer_ms <= worth.forward_ms;
  return schedule == "1f1b_sno" || worth.transfer_ms <= worth.slowest_ms / 2;
}
double time_of(const std::string_view schedule, int n, int m, const Worth& worth) {
  const double computed = (m + n - 1) * worth.slowest_ms;
  if (schedule == "1f1b_sno") return computed + 2 * (n + m - 2) * worth.transfer_ms;
  return computed + (schedule == "1f1b_so" ? 2 * (n - 1) * worth.transfer_ms : 0);
}

struct Instance {
  LayerChain chain;
  PipelineSpec spec;
};

Instance random_instance(Random& random) {
  const auto layers = 1 + static_cast<int>(random.below(8));
  const auto stages = 1 + static_cast<int>(random.below(static_cast<std::uint64_t>(layers)));
  Instance instance{random_chain(random, layers), {}};
  const Cluster cluster = random_cluster(random, stages, Execution::Sync);
  instance.spec.schedule = &bapipe_schedules()[random.below(4)];
  instance.spec.microbatches = 1 + static_cast<int>(random.below(9));
  instance.spec.wires = neighbour_wires(cluster, false);
  for (const Cluster::Device& device : cluster.devices) {
    instance.spec.speeds.push_back(device.speed);
    instance.spec.memory.push_back(device.memory_bytes);
  }
  return instance;
}

}  // namespace

TEST_CASE("the balanced partition has the smallest slowest stage of all") {
  for (std::uint64_t seed = 0; seed < 500; ++seed) {
    INFO("seed " << seed);
    Random random(seed, "bapipe balance");
    const Instance instance = random_instance(random);
    const PipelineCosts costs(instance.chain, instance.spec);
    double best = kNever;
    StageCuts begin = {0};
    for_each_cut(costs.layers(), costs.stages(), begin, [&](const StageCuts& cuts) {
      best = std::min(best, worth_of(instance.chain, instance.spec, cuts).slowest_ms);
    });
    const StageCuts cuts = balanced_partition(costs);
    REQUIRE(std::ssize(cuts) == costs.stages());
    CHECK(std::ranges::adjacent_find(cuts, std::greater_equal<>()) == cuts.end());
    CHECK(worth_of(instance.chain, instance.spec, cuts).slowest_ms == best);
    CHECK(pace_of(costs_of(costs, cuts)).compute_ms() == best);
  }
}

TEST_CASE("the best partition has the shortest step of all that fit and hide their transfers") {
  int possible = 0, moved = 0;
  for (std::uint64_t seed = 0; seed < 500; ++seed) {
    INFO("seed " << seed);
    Random random(seed, "bapipe partition");
    const Instance instance = random_instance(random);
    const PipelineSpec& spec = instance.spec;
    const PipelineCosts costs(instance.chain, spec);
    const auto time = [&](const StageCuts& cuts) {
      const Worth worth = worth_of(instance.chain, spec, cuts);
      return worth.fits && hides(spec.schedule->name, worth)
                 ? time_of(spec.schedule->name, spec.stages(), spec.microbatches, worth)
                 : kNever;
    };
    double best = kNever;
    StageCuts begin = {0};
    for_each_cut(costs.layers(), costs.stages(), begin,
                 [&](const StageCuts& cuts) { best = std::min(best, time(cuts)); });
    const auto found = best_partition(costs);
    REQUIRE(found.has_value() == (best < kNever));
    if (!found) continue;
    ++possible;
    moved += time(balanced_partition(costs)) > best;
    CHECK(time(*found) == Approx(best).epsilon(1e-12));
    CHECK(step_ms(spec, costs_of(costs, *found)) == Approx(best).epsilon(1e-12));
  }
  CHECK(possible > 150);
  CHECK(possible < 450);
  CHECK(moved > 50);  // the balanced one would not do
}

TEST_CASE("a faster device gets its share of the layers") {
  LayerChain chain;
  chain.layers.assign(6, ChainLayer{.name = "x", .forward_ms = 1, .backward_input_ms = 2});
  const PipelineSpec spec{.schedule = find_bapipe_schedule("1f1b_so"),
                          .microbatches = 4,
                          .speeds = {2, 1},
                          .memory = {{}, {}},
                          .wires = {{.bytes_per_second = 1e9}}};
  CHECK(balanced_partition({chain, spec}) == StageCuts{0, 4});
}

TEST_CASE("cuts with long transfers and stages that do not fit are left out") {
  LayerChain chain;
  for (const char* name : {"a", "b", "c", "d"})
    chain.layers.push_back({.name = name, .forward_ms = 1, .backward_input_ms = 2});
  chain.layers[1].sent_bytes = 10;  // 10 ms; F + B of two layers is 6
  chain.layers[0].sent_bytes = chain.layers[2].sent_bytes = 1;
  PipelineSpec spec{.schedule = find_bapipe_schedule("1f1b_so"),
                    .microbatches = 4,
                    .speeds = {1, 1},
                    .memory = {{}, {}},
                    .wires = {{.bytes_per_second = 1000}}};
  CHECK(balanced_partition({chain, spec}) == StageCuts{0, 2});
  CHECK((best_partition({chain, spec}) == StageCuts{0, 1} ||
         best_partition({chain, spec}) == StageCuts{0, 3}));
  // Stage 0 keeps 3 micro-batches of 4 bytes a layer: one layer takes 12.
  for (ChainLayer& layer : chain.layers) layer.saved_bytes = 4;
  spec.memory = {12, 12};
  CHECK(best_partition({chain, spec}) == StageCuts{0, 1});
  spec.memory = {11, 12};
  CHECK_FALSE(best_partition({chain, spec}));
}

TEST_CASE("of stages that take equal time, the one with the longest forward counts") {
  LayerChain chain;
  chain.layers.push_back({.name = "a", .forward_ms = 3, .backward_input_ms = 1, .sent_bytes = 2});
  chain.layers.push_back({.name = "b", .forward_ms = 1, .backward_input_ms = 3});
  const PipelineSpec spec{.schedule = find_bapipe_schedule("1f1b_as"),
                          .microbatches = 4,
                          .speeds = {1, 1},
                          .memory = {{}, {}},
                          .wires = {{.bytes_per_second = 1000}}};
  const CutCosts cut = costs_of({chain, spec}, {0, 1});
  CHECK(pace_of(cut).forward_ms == 3);
  CHECK(hides_transfers(spec, cut));  // 2 ms
}
