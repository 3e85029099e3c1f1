// A layer that two stages share: by hand, and against every share of a fine grid.
#include "plan/bapipe/layer_split.hpp"

#include <algorithm>

#include "catch.hpp"
#include "graph/graph.hpp"
#include "plan/bapipe/partition.hpp"
#include "random_pipelines.hpp"

using namespace pipetrain;

namespace {

PipelineSpec two_boards(double right_speed) {
  return {.schedule = find_bapipe_schedule("1f1b_as"),
          .microbatches = 4,
          .speeds = {1, right_speed},
          .memory = {{}, {}},
          .wires = {{.bytes_per_second = 1e6}}};
}

LayerChain three_layers() {
  LayerChain chain;
  for (const double ms : {2.0, 4.0, 4.0})
    chain.layers.push_back({.name = "x",
                            .forward_ms = ms / 2,
                            .backward_input_ms = ms / 2,
                            .sent_bytes = 100,
                            .saved_bytes = 10,
                            .parameter_bytes = 8});
  return chain;
}

}  // namespace

TEST_CASE("the slower of two stages gives away half of its excess") {
  const LayerChain chain = three_layers();
  const PipelineSpec spec = two_boards(1);
  const PipelineCosts costs(chain, spec);
  // 6 and 4 ms: the left stage gives away a quarter of its last layer of 4.
  const auto split = best_layer_split(costs, {0, 2});
  REQUIRE(split);
  CHECK(split->boundary == 0);
  CHECK(split->layer == 1);
  CHECK(split->left_share == 0.75);
  CHECK(split->costs.stages[0].compute_ms() == 5);
  CHECK(split->costs.stages[1].compute_ms() == 5);
  // Its input, and three quarters of its output.
  CHECK(split->costs.transfers_ms[0] == Approx(0.175));
  // Stage 0 keeps 2 micro-batches, stage 1 one; weights count twice.
  CHECK(split->costs.stages[0].bytes == 2 * (10 + 7.5) + 2 * (8 + 6));
  CHECK(split->costs.stages[1].bytes == (10 + 2.5) + 2 * (8 + 2));
}

TEST_CASE("a share depends on the speeds of both devices") {
  const LayerChain chain = three_layers();
  const PipelineSpec spec = two_boards(2);
  const PipelineCosts costs(chain, spec);
  // 2 and 8 / 2 = 4 ms: of the layer of 4 and 2 ms the left stage takes 2 / 6.
  const auto split = best_layer_split(costs, {0, 1});
  REQUIRE(split);
  CHECK(split->layer == 1);
  CHECK(split->left_share == Approx(1.0 / 3));
  CHECK(split->costs.stages[0].compute_ms() == Approx(2 + 4.0 / 3));
  CHECK(split->costs.stages[1].compute_ms() == Approx(2 + 4.0 / 3));
}

TEST_CASE("no layer is shared if that does not fit, is not hidden or gains nothing") {
  LayerChain chain = three_layers();
  PipelineSpec spec = two_boards(1);
  spec.memory = {{}, 31};  // the right stage would have 32.5
  CHECK_FALSE(best_layer_split({chain, spec}, {0, 2}));
  spec.memory = {{}, 33};
  CHECK(best_layer_split({chain, spec}, {0, 2}));
  chain.layers[1].sent_bytes = 3300;  // 3.3 ms, and after the split 0.1 + 2.475 of F = 2.5
  CHECK_FALSE(best_layer_split({chain, spec}, {0, 2}));
  chain = three_layers();
  chain.layers[0].forward_ms = 0;
  chain.layers[0].backward_input_ms = 0;  // 4 and 4
  CHECK_FALSE(best_layer_split({chain, spec}, {0, 2}));
}

TEST_CASE("no share of a boundary layer beside the slowest stage gives a shorter step") {
  int shared = 0;
  for (std::uint64_t seed = 0; seed < 500; ++seed) {
    INFO("seed " << seed);
    Random random(seed, "bapipe layer split");
    const auto layers = 3 + static_cast<int>(random.below(5));
    const auto stages = 2 + static_cast<int>(random.below(2));
    const LayerChain chain = random_chain(random, layers);
    PipelineSpec spec{
        .schedule = find_bapipe_schedule("fbp_as"),
        .microbatches = 4,
        .speeds = {},
        .memory = std::vector<std::optional<std::int64_t>>(static_cast<std::size_t>(stages)),
        .wires =
            std::vector<Wire>(static_cast<std::size_t>(stages) - 1, {.bytes_per_second = 1e12})};
    for (int s = 0; s < stages; ++s)
      spec.speeds.push_back(1 + static_cast<double>(random.below(3)));
    const PipelineCosts costs(chain, spec);
    const StageCuts cuts = balanced_partition(costs);
    const auto split = best_layer_split(costs, cuts);
    const CutCosts whole = costs_of(costs, cuts);
    double shortest = step_ms(spec, whole);
    const double found = split ? step_ms(spec, split->costs) : shortest;
    shared += split.has_value();
    for (int boundary = 0; boundary + 1 < stages; ++boundary)
      for (const bool from_left : {false, true})
        for (int hundredth = 1; hundredth < 100; ++hundredth) {
          const auto b = static_cast<std::size_t>(boundary);
          const int layer = cuts[b + 1] - from_left;
          const double moved = hundredth / 100.0 * (from_left ? 1 : -1);
          CutCosts cut = whole;
          cut.stages[b] = cut.stages[b] + costs.of(boundary, layer, layer + 1) * -moved;
          cut.stages[b + 1] = cut.stages[b + 1] + costs.of(boundary + 1, layer, layer + 1) * moved;
          shortest = std::min(shortest, step_ms(spec, cut));
        }
    CHECK(found <= shortest * 1.0011);
  }
  CHECK(shared > 100);
}
