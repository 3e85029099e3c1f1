// PipeDream's optimizer against all possible partitions, and what its stages say about themselves.
#include "plan/pipedream/partition.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/rng.hpp"
#include "catch.hpp"
#include "every_partition.hpp"

using namespace pipetrain;
using namespace pipetrain::testing;

namespace {

double whole_number_below(Random& random, std::uint64_t count) {
  return static_cast<double>(random.below(count));
}

LayerChain random_chain(Random& random) {
  LayerChain chain;
  for (std::uint64_t layers = 1 + random.below(6); layers > 0; --layers)
    chain.layers.push_back({.name = "",
                            .forward_ms = whole_number_below(random, 20),
                            .backward_input_ms = random.uniform(0, 30),
                            .sent_bytes = static_cast<std::int64_t>(random.below(3000)),
                            .saved_bytes = static_cast<std::int64_t>(random.below(20)),
                            .parameter_bytes = static_cast<std::int64_t>(random.below(3000))});
  return chain;
}

ProfileGraph random_graph(Random& random) {
  ProfileGraph graph;
  const int count = 2 + static_cast<int>(random.below(5));
  for (int n = 0; n < count; ++n) {
    ProfiledNode node{.id = std::to_string(n)};
    node.forward_ms = whole_number_below(random, 20);
    node.output_bytes = {whole_number_below(random, 3000)};
    node.parameter_bytes = whole_number_below(random, 3000);
    graph.nodes.push_back(node);
    for (int from = 0; from < n; ++from)
      if (random.below(2) == 0) graph.edges.push_back({from, n});
  }
  return graph;
}

PartitionRequest random_request(Random& random, std::size_t levels, PipedreamCosts costs) {
  PartitionRequest request{.levels = {}, .costs = costs};
  for (std::size_t l = 0; l < levels; ++l) {
    const std::uint64_t most = levels == 1 ? 5 : 3;
    request.levels.push_back({1 + static_cast<int>(random.below(most)), random.uniform(5e4, 5e5)});
  }
  request.straight = random.below(4) == 0;
  if (random.below(2) == 0)
    request.memory_bytes = static_cast<std::int64_t>(1 + random.below(20000));
  return request;
}

double bottleneck(const std::vector<PartitionStage>& stages) {
  double longest = 0;
  for (const PartitionStage& stage : stages)
    longest = std::max({longest, stage.time_ms, stage.transfer_ms});
  return longest;
}

// The stages follow each other, and every device belongs to one.
void check_whole(const std::vector<PartitionStage>& stages, const CutStates& cuts,
                 const PartitionRequest& request) {
  int at = kNoLayers;
  std::vector<int> devices;
  for (const PartitionStage& stage : stages) {
    CHECK(stage.from == at);
    CHECK_FALSE(cuts.layers(stage.from, stage.to).empty());
    at = stage.to;
    devices.insert(devices.end(), stage.devices.begin(), stage.devices.end());
    CHECK((!request.straight || stage.devices.size() == 1));
    if (request.memory_bytes)
      CHECK(stage.memory_bytes <= static_cast<double>(*request.memory_bytes));
  }
  CHECK(at == static_cast<int>(cuts.states.size()) - 1);
  std::sort(devices.begin(), devices.end());
  int count = 1;
  for (const DeviceLevel& level : request.levels) count *= level.groups;
  std::vector<int> all(static_cast<std::size_t>(count));
  std::iota(all.begin(), all.end(), 0);
  CHECK(devices == all);
}

// True if there is a partition.
bool check_instance(const CutStates& cuts, const PartitionRequest& request) {
  const double best = best_of_every_partition(cuts, request);
  const auto found = fastest_partition(cuts, request);
  REQUIRE(found.has_value() == std::isfinite(best));
  if (!found) return false;
  CHECK(bottleneck(*found) == Approx(best).epsilon(1e-9));
  check_whole(*found, cuts, request);
  if (request.levels.size() == 1)
    CHECK(static_cast<int>(found->size()) == fewest_stages(cuts, request, best * (1 + 1e-11)));
  return true;
}

}  // namespace

TEST_CASE("the partition equals the best of all partitions") {
  const auto costs = GENERATE(PipedreamCosts::Paper, PipedreamCosts::Code);
  const std::size_t levels = GENERATE(1, 2);
  int possible = 0;
  for (std::uint64_t seed = 0; seed < 500; ++seed) {
    INFO("seed " << seed << ", levels " << levels << ", code " << (costs == PipedreamCosts::Code));
    Random random(seed, "partition");
    const CutStates cuts = cut_states(random_chain(random), "p");
    possible += check_instance(cuts, random_request(random, levels, costs)) ? 1 : 0;
  }
  CHECK(possible > 250);
  CHECK(possible < 500);
}

TEST_CASE("the partition of branches equals the best of all partitions") {
  const auto costs = GENERATE(PipedreamCosts::Paper, PipedreamCosts::Code);
  int branched = 0;
  for (std::uint64_t seed = 0; seed < 150; ++seed) {
    INFO("seed " << seed << ", code " << (costs == PipedreamCosts::Code));
    Random random(seed, "branches");
    const CutStates cuts = cut_states(random_graph(random), "p");
    branched += cuts.states.size() > cuts.names.size() ? 1 : 0;
    check_instance(cuts, random_request(random, 1 + random.below(2), costs));
  }
  CHECK(branched > 10);
}

TEST_CASE("the partition of least memory fits if any does") {
  for (std::uint64_t seed = 0; seed < 150; ++seed) {
    INFO("seed " << seed);
    Random random(seed, "memory");
    const CutStates cuts = cut_states(random_chain(random), "p");
    PartitionRequest request = random_request(random, 1 + random.below(2), PipedreamCosts::Paper);
    request.memory_bytes.reset();
    const auto smallest = smallest_partition(cuts, request);
    REQUIRE(smallest.has_value() == fastest_partition(cuts, request).has_value());
    if (!smallest) continue;
    double largest = 0;
    for (const PartitionStage& stage : *smallest) largest = std::max(largest, stage.memory_bytes);
    request.memory_bytes = static_cast<std::int64_t>(largest);
    CHECK(fastest_partition(cuts, request).has_value());
    request.memory_bytes = static_cast<std::int64_t>(largest) - 1;
    CHECK_FALSE(fastest_partition(cuts, request).has_value());
  }
}

TEST_CASE("the formulas of METHODS.md by hand") {
  const DeviceLevel level{.groups = 4, .bytes_per_second = 1e6};
  const StageOnLevel stage{.group_ms = 12, .parameter_bytes = 1000, .replicas = 3};
  // max(12, 2 * 2 * 1 ms) / 3, and (12 + 4 * 2 / 3 * 1 ms) / 3.
  CHECK(stage_ms(PipedreamCosts::Paper, stage, level) == Approx(4));
  CHECK(stage_ms(PipedreamCosts::Code, stage, level) == Approx((12 + 8.0 / 3) / 3));
  CHECK(transfer_ms(PipedreamCosts::Paper, 500, level) == Approx(1));
  CHECK(transfer_ms(PipedreamCosts::Code, 500, level) == 0);
  // 7-1: eight ranks; seven replicas hold one stashed copy and the live one, the last stage one.
  const GroupsBehind first = behind_stage({}, 1, 7), last = behind_stage({}, 0, 1);
  CHECK(copies_held(PipedreamCosts::Paper, first) == 2);
  CHECK(copies_held(PipedreamCosts::Paper, last) == 1);
  CHECK(copies_held(PipedreamCosts::Code, first) == 1);
  CHECK(copies_held(PipedreamCosts::Code, last) == 0);
}
