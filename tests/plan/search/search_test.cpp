// The planner by simulation, on chains whose best plan is known.
#include "plan/search/search.hpp"

#include <utility>
#include <vector>

#include "base/error.hpp"
#include "catch.hpp"
#include "plan/proposal_words.hpp"

using namespace pipetrain;

namespace {

// Eight equal layers; times in proportion to the samples.
LayerChain eight_layers(int samples, int = 1) {
  LayerChain chain{.layers = {}, .microbatch_samples = samples};
  for (int l = 0; l < 8; ++l)
    chain.layers.push_back({.name = "layer",
                            .forward_ms = 1.0 * samples,
                            .backward_input_ms = 1.0 * samples,
                            .backward_weight_ms = 1.0 * samples,
                            .saved_bytes = 1000 * samples,
                            .parameter_bytes = 100});
  return chain;
}

Cluster devices(int count) { return cluster_of({{.size = count, .bytes_per_second = 1e12}}); }

// Two stages of four layers, eight micro-batches.
Simulated under_1f1b(const LayerChain& chain) {
  const Cluster cluster = devices(2);
  Candidate candidate{.schedule = find_schedule("1f1b"), .workers = 2, .microbatches = 8};
  candidate.firsts = {0, 4};
  return simulate_candidate({.chain = chain, .cluster = cluster}, candidate);
}

// Keys that leave nothing to search; on one device a step takes 16 * 24 ms.
SearchInput given_two_stages(const Cluster& cluster) {
  return {.chain = eight_layers,
          .cluster = cluster,
          .minibatch_samples = 16,
          .replicates = false,
          .schedule = "1f1b",
          .workers = 2,
          .microbatches = 8};
}

// Two workers that have these parts of the model, 4 micro-batches of 4 samples.
Proposal planned_on_two(const char* schedule, std::vector<int> firsts) {
  const Cluster cluster = devices(2);
  return search_by_simulation({.chain = eight_layers,
                               .cluster = cluster,
                               .minibatch_samples = 16,
                               .schedule = schedule,
                               .workers = 2,
                               .microbatches = 4,
                               .virtual_stages = 2,
                               .firsts = std::move(firsts)})
      .proposal;
}

}  // namespace

// (N + P - 1) slots of F + B on the slowest stage, METHODS' closed form of a flushing pipeline.
TEST_CASE("a candidate's step is its program's", "[search]") {
  LayerChain chain = eight_layers(4);
  for (ChainLayer& layer : chain.layers)
    layer.backward_input_ms += std::exchange(layer.backward_weight_ms, 0);
  const Simulated simulated = under_1f1b(chain);
  CHECK(simulated.step_ms == Approx((8 + 2 - 1) * 4 * 12.0));
  CHECK(simulated.bottleneck_ms == Approx(48));
  CHECK(simulated.bubble == Approx(1.0 / 9));
}

TEST_CASE("a stage waits for all of the next one's backward but its last weight half", "[search]") {
  LayerChain chain = eight_layers(4);
  const double whole = (8 + 2 - 1) * 4 * 12.0;
  CHECK(under_1f1b(chain).step_ms == Approx(whole - 4));
  ChainLayer& first = chain.layers[4];  // of the second stage
  first.backward_input_ms += first.backward_weight_ms - 0.5;
  first.backward_weight_ms = 0.5;
  CHECK(under_1f1b(chain).step_ms == Approx(whole - 0.5));
  // Frozen: it has parameters, but the layer after it is the first that trains.
  first.backward_input_ms += std::exchange(first.backward_weight_ms, 0);
  CHECK(under_1f1b(chain).step_ms == Approx(whole - 4));
}

TEST_CASE("halves of a backward that run apart cost what that adds", "[search]") {
  LayerChain chain = eight_layers(4);
  for (ChainLayer& layer : chain.layers) layer.split_backward_ms = 1;
  const Cluster cluster = devices(1);
  for (const auto& [name, backward] : {std::pair{"zb_h1", 9.0}, std::pair{"1f1b", 8.0}}) {
    Candidate candidate{.schedule = find_schedule(name), .workers = 1, .microbatches = 8};
    candidate.firsts = {0};
    const Simulated simulated = simulate_candidate({.chain = chain, .cluster = cluster}, candidate);
    CHECK(simulated.step_ms == Approx(8 * 8 * (4 + backward)));
    CHECK(simulated.stages[0].compute_ms == Approx(8 * (4 + backward)));
  }
}

TEST_CASE("memory counts versions, activations in flight and what the optimizer keeps",
          "[search]") {
  const LayerChain chain = eight_layers(1);
  const Cluster cluster = devices(2);
  Candidate candidate{.schedule = find_schedule("pipedream"), .workers = 2, .microbatches = 1};
  candidate.firsts = {0, 4};
  const Simulated s = simulate_candidate(
      {.chain = chain, .cluster = cluster, .copies_beside_weights = 2}, candidate);
  CHECK(s.memory_bytes[0] == 400 * (2 + 2) + 4000 * 2);
  CHECK(s.memory_bytes[1] == 400 * (1 + 2) + 4000 * 1);
}

TEST_CASE("the search takes a stale schedule without a bubble only if it is allowed to",
          "[search]") {
  const Cluster cluster = devices(2);
  SearchInput input{
      .chain = eight_layers, .cluster = cluster, .minibatch_samples = 16, .workers = 2};
  const SearchResult flushing = search_by_simulation(input);
  CHECK(flushes(*flushing.candidate.schedule));
  input.allow_stale = true;
  const SearchResult any = search_by_simulation(input);
  CHECK(any.simulated.step_ms <= flushing.simulated.step_ms);
  CHECK(any.simulated.step_ms == Approx(16 * 12.0));
}

TEST_CASE("choices that are given are kept", "[search]") {
  const Cluster cluster = devices(4);
  const SearchResult found = search_by_simulation({.chain = eight_layers,
                                                   .cluster = cluster,
                                                   .minibatch_samples = 16,
                                                   .schedule = "gpipe",
                                                   .workers = 2,
                                                   .microbatches = 4,
                                                   .firsts = std::vector{0, 3}});
  CHECK(found.proposal.schedule == "gpipe");
  CHECK(found.proposal.microbatches == 4);
  CHECK(found.proposal.stages[1].first_layer == 3);
}

TEST_CASE("a model that fits nowhere says what is missing", "[search]") {
  const Cluster cluster = devices(2);
  CHECK_THROWS_WITH(search_by_simulation({.chain = eight_layers,
                                          .cluster = cluster,
                                          .minibatch_samples = 2,
                                          .memory_limit_bytes = 100}),
                    Contains("no plan fits the memory") && Contains("is short of") &&
                        Contains("use more devices"));
}

TEST_CASE("if activations do not fit they are recomputed", "[search]") {
  const Cluster cluster = devices(2);
  const SearchResult found = search_by_simulation({.chain = eight_layers,
                                                   .cluster = cluster,
                                                   .minibatch_samples = 16,
                                                   .memory_limit_bytes = 17'000,
                                                   .schedule = "gpipe",
                                                   .workers = 2,
                                                   .microbatches = 16});
  CHECK(found.candidate.recompute);
}

TEST_CASE("recomputation that is given, or ruled out, is not chosen", "[search]") {
  const Cluster cluster = devices(2);
  SearchInput input{.chain = eight_layers,
                    .cluster = cluster,
                    .minibatch_samples = 16,
                    .schedule = "gpipe",
                    .workers = 2,
                    .microbatches = 16};
  const SearchResult kept = search_by_simulation(input);
  input.recompute = true;
  const SearchResult again = search_by_simulation(input);
  CHECK_FALSE(kept.candidate.recompute);
  CHECK(again.candidate.recompute);
  CHECK(again.simulated.step_ms > kept.simulated.step_ms);
  CHECK(again.simulated.memory_bytes[0] < kept.simulated.memory_bytes[0]);
  input.recompute = false;
  input.memory_limit_bytes = 17'000;  // as above, only recomputed it fits
  CHECK_THROWS_WITH(search_by_simulation(input), Contains("no plan fits the memory"));
}

TEST_CASE("a warm-up that is given is planned with, under schedules that take one", "[search]") {
  const Cluster cluster = devices(2);
  SearchInput input{
      .chain = eight_layers, .cluster = cluster, .minibatch_samples = 16, .workers = 2};
  input.warmup = Warmup::Full;
  const SearchResult found = search_by_simulation(input);
  CHECK(takes_warmup(*found.candidate.schedule));
  CHECK(found.candidate.warmup == Warmup::Full);
  input.schedule = "gpipe";  // has none to choose
  CHECK(search_by_simulation(input).candidate.warmup == Warmup::OneFOneB);
}

TEST_CASE("more stages than devices are refused", "[search]") {
  const Cluster cluster = devices(2);
  CHECK_THROWS_WITH(
      search_by_simulation(
          {.chain = eight_layers, .cluster = cluster, .minibatch_samples = 16, .workers = 3}),
      Contains("pipeline.stages = 3 is more than the 2 devices"));
}

TEST_CASE("a split that is given fixes the parts", "[search]") {
  const Cluster cluster = devices(2);
  SearchInput input{.chain = eight_layers, .cluster = cluster, .minibatch_samples = 16};
  input.firsts = std::vector{0, 4};
  CHECK(search_by_simulation(input).proposal.stages.size() == 2);
  input.firsts = std::vector{0, 2, 4};
  CHECK_THROWS_WITH(search_by_simulation(input), Contains("pipeline.split makes 3 parts"));
}

TEST_CASE("speed-ups are relative to one device and data parallelism, whatever is given",
          "[search]") {
  const Cluster four = devices(4), six = devices(6);
  const Proposal plan = search_by_simulation(given_two_stages(four)).proposal;
  CHECK(plan.step_ms == Approx((8 + 2 - 1) * 2 * 12.0 - 2));
  CHECK(plan.speedup.value() == Approx(16 * 24 / plan.step_ms));
  CHECK(plan.data_parallel_speedup.value() == Approx(4));
  CHECK_FALSE(plan.data_parallel_devices);
  const Proposal wider = search_by_simulation(given_two_stages(six)).proposal;
  CHECK(wider.data_parallel_devices == 4);  // six cannot share 16 samples evenly
  CHECK_THAT(proposal_text(wider), Contains("data parallel on 4 devices has 4.00"));
}

TEST_CASE("one device is a whole core, even if more stages than cores share them", "[search]") {
  Cluster shared = devices(4);
  for (Cluster::Device& device : shared.devices) device.speed = 0.5;
  SearchInput input = given_two_stages(shared);
  input.whole_cluster = devices(2);
  const Proposal plan = search_by_simulation(input).proposal;
  CHECK(plan.speedup.value() == Approx(16 * 24 / plan.step_ms));
  CHECK(plan.data_parallel_speedup.value() == Approx(2));
  CHECK(plan.data_parallel_devices == 2);
}

TEST_CASE("one device is the fastest of the cluster, wherever it is listed", "[search]") {
  Cluster cluster = devices(2);
  cluster.devices[0].speed = 0.1;
  cluster.devices[1].speed = 8;
  const Proposal plan = search_by_simulation(given_two_stages(cluster)).proposal;
  CHECK(plan.speedup.value() == Approx(16 * 24 / 8.0 / plan.step_ms));
}

// Two servers of two devices, with much to send inside and little between them.
TEST_CASE("a transfer is charged between copies that meet", "[search]") {
  LayerChain chain = eight_layers(4);
  chain.layers[1].sent_bytes = chain.layers[5].sent_bytes = 1'000'000;
  chain.layers[3].sent_bytes = 100;
  const Cluster cluster =
      cluster_of({{.size = 2, .bytes_per_second = 1e12}, {.size = 2, .bytes_per_second = 1e6}});
  const Candidate both_ways{.schedule = find_schedule("chimera"),
                            .workers = 4,
                            .microbatches = 4,
                            .firsts = {0, 2, 4, 6}};
  const Simulated s = simulate_candidate({.chain = chain, .cluster = cluster}, both_ways);
  CHECK(s.stages[0].transfer_ms == Approx(1e-3));
  CHECK(s.stages[1].transfer_ms == Approx(0.1));
  CHECK(s.stages[2].transfer_ms == Approx(1e-3));
  CHECK(s.stages[3].transfer_ms == 0);

  // Three replicas in turn meet the one of the next stage, over the slower way too.
  const Candidate replicated{.schedule = find_schedule("pipedream"),
                             .workers = 2,
                             .microbatches = 1,
                             .firsts = {0, 4},
                             .replicas = {3, 1}};
  CHECK(
      simulate_candidate({.chain = chain, .cluster = cluster}, replicated).stages[0].transfer_ms ==
      Approx(0.1));
}

TEST_CASE("a model that does not fit one device has no speed-up", "[search]") {
  const Cluster cluster = devices(2);
  SearchInput input = given_two_stages(cluster);
  input.microbatches = 16;
  input.memory_limit_bytes = 10'000;
  const Proposal plan = search_by_simulation(input).proposal;
  CHECK_FALSE(plan.speedup);
  CHECK_FALSE(plan.data_parallel_speedup);
}

TEST_CASE("a worker that has several stages counts with all of them", "[search]") {
  const Proposal v = planned_on_two("zb_v", {0, 1, 4, 7});
  REQUIRE(v.stages.size() == 4);
  CHECK(v.stages[1].devices == std::vector{1});
  CHECK(v.stages[2].devices == std::vector{1});
  CHECK(v.stages[3].devices == std::vector{0});
  CHECK(v.stages[2].time_ms == Approx(3 * 12));
  CHECK(v.bottleneck_ms == Approx(6 * 12));
  CHECK(v.stages[0].memory_bytes == v.stages[3].memory_bytes);
  CHECK(title_text(v) == "simulate: 2 workers with 2 stages each, on 2 devices");
  CHECK(v.compared[0].what == "zb_v, 2 workers with 2 stages each, 4 micro-batches");
  CHECK_THAT(proposal_text(v), Contains("72 ms per micro-batch: device 1 (stages 1, 2)"));

  const Proposal interleaved = planned_on_two("interleaved_1f1b", {0, 2, 4, 6});
  CHECK(interleaved.stages[1].devices == std::vector{1});
  CHECK(interleaved.stages[2].devices == std::vector{0});
  CHECK(interleaved.bottleneck_ms == Approx(4 * 12));
}

TEST_CASE("copies of a stage share its time", "[search]") {
  const Proposal both_ways = planned_on_two("chimera", {0, 4});
  CHECK(both_ways.stages[1].devices == std::vector{1, 0});
  CHECK(both_ways.stages[1].time_ms == Approx(4 * 12 / 2));
  CHECK(both_ways.bottleneck_ms == Approx(4 * 12));
  CHECK(title_text(both_ways) == "simulate: 2 workers with 2 stages each, on 2 devices (2-2)");
  const Proposal parallel = planned_on_two("data_parallel", {0});
  CHECK(parallel.bottleneck_ms == Approx(8 * 12 / 2));
  CHECK(parallel.compared[0].what == "data_parallel, 2 workers, 4 micro-batches");
}
