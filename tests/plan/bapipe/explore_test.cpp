// The exploration against everything there is to choose from, and what it says about the rest.
#include "plan/bapipe/explore.hpp"

#include <algorithm>
#include <limits>
#include <numeric>

#include "base/error.hpp"
#include "catch.hpp"
#include "graph/graph.hpp"
#include "random_pipelines.hpp"

using namespace pipetrain;

namespace {

constexpr double kImpossible = std::numeric_limits<double>::infinity();

// The exploration written once more, as plainly as possible: every contiguous partition, every
// schedule by its own line of the paper's table, and data parallelism.
struct Exhaustive {
  const BapipeInput& input;
  double best = kImpossible;

  int devices() const { return device_count(input.cluster); }
  const Cluster::Device& device(int d) const {
    return input.cluster.devices[static_cast<std::size_t>(d)];
  }
  bool too_large(int d, double bytes) const {
    const auto limit = input.memory_limit_bytes;
    return (device(d).memory_bytes && bytes > static_cast<double>(*device(d).memory_bytes)) ||
           (limit && bytes > static_cast<double>(*limit));
  }

  // The wire between two neighbours of random_cluster, of which `pairs` use the same.
  Wire wire(int from, int to, bool ring) const {
    const auto level_of = [&](int a, int b) {
      const auto& levels = input.cluster.levels;
      const int first = levels[0].sizes[0];
      return levels.size() == 1 || (a < first) == (b < first) ? (a < first ? 0 : 1) : 2;
    };
    int pairs = 0;
    for (int d = 0; d < devices(); ++d) {
      const bool closes = d + 1 == devices();
      if (closes && (!ring || devices() <= 2)) break;
      pairs += level_of(d, (d + 1) % devices()) == level_of(from, to);
    }
    Wire wire = input.cluster.levels[level_of(from, to) == 2 ? 1 : 0].wire;
    if (wire.shared) wire.bytes_per_second /= pairs;
    return wire;
  }

  void look_at_all() {
    for (const LayerChain& chain : input.chains) {
      if (input.minibatch_samples % chain.microbatch_samples != 0) continue;
      const int m = input.minibatch_samples / chain.microbatch_samples;
      const auto layers = static_cast<int>(chain.layers.size());
      std::vector<int> ends;
      if (layers >= devices()) look_at_cuts(chain, m, ends);
      look_at_data_parallel(chain, m);
    }
  }

  void look_at_cuts(const LayerChain& chain, int m, std::vector<int>& ends) {
    const int begin = ends.empty() ? 0 : ends.back();
    const auto layers = static_cast<int>(chain.layers.size());
    if (static_cast<int>(ends.size()) + 1 == devices()) {
      ends.push_back(layers);
      if (begin < layers) look_at_partition(chain, m, ends);
      ends.pop_back();
      return;
    }
    for (int end = begin + 1; end < layers; ++end) {
      ends.push_back(end);
      look_at_cuts(chain, m, ends);
      ends.pop_back();
    }
  }

  void look_at_partition(const LayerChain& chain, int m, const std::vector<int>& ends) {
    const int n = devices();
    double f = 0, fb = 0, sr = 0;
    bool fits_shallow = true, fits_fbp = true, fits_so = true;
    for (int i = 1; i <= n; ++i) {
      double forward = 0, backward = 0, a = 0, w = 0;
      const int begin = i == 1 ? 0 : ends[static_cast<std::size_t>(i) - 2];
      for (int l = begin; l < ends[static_cast<std::size_t>(i) - 1]; ++l) {
        const ChainLayer& layer = chain.layers[static_cast<std::size_t>(l)];
        forward += layer.forward_ms, backward += layer.backward_ms();
        a += static_cast<double>(layer.saved_bytes),
            w += static_cast<double>(layer.parameter_bytes);
      }
      forward /= device(i - 1).speed, backward /= device(i - 1).speed;
      if (forward + backward > fb || (forward + backward == fb && forward > f))
        f = forward, fb = forward + backward;
      fits_shallow &= !too_large(i - 1, std::min(m, n - i + 1) * a + 2 * w);
      fits_fbp &= !too_large(i - 1, std::min(m, 2 * (n - i + 1)) * a + 2 * w);
      fits_so &= !too_large(i - 1, std::min(m, 2 * (n - i) + 1) * a + 2 * w);
      if (i < n) {
        const Wire between = wire(i - 1, i, false);
        const auto sent = static_cast<double>(
            chain.layers[static_cast<std::size_t>(ends[static_cast<std::size_t>(i) - 1]) - 1]
                .sent_bytes);
        sr = std::max(sr, between.latency_ms + 1000 * sent / between.bytes_per_second);
      }
    }
    const double computed = (m + n - 1) * fb;
    const bool async = asynchronous(input.cluster);
    if (async && fits_shallow && sr <= f) best = std::min(best, computed);
    if (async && fits_fbp && sr <= fb / 2) best = std::min(best, computed);
    if (!async && fits_shallow) best = std::min(best, computed + 2 * (n + m - 2) * sr);
    if (!async && fits_so && sr <= fb / 2) best = std::min(best, computed + 2 * (n - 1) * sr);
  }

  void look_at_data_parallel(const LayerChain& chain, int m) {
    double compute = 0, a = 0, w = 0, slowest = kImpossible, narrowest = kImpossible;
    for (const ChainLayer& layer : chain.layers) {
      compute += layer.compute_ms();
      a += static_cast<double>(layer.saved_bytes), w += static_cast<double>(layer.parameter_bytes);
    }
    const int n = devices();
    for (int d = 0; d < n; ++d) {
      if (too_large(d, a + 2 * w)) return;
      slowest = std::min(slowest, device(d).speed);
      if (n > 1) narrowest = std::min(narrowest, wire(d, (d + 1) % n, true).bytes_per_second);
    }
    const int share = m / n + (m % n > 0);
    best = std::min(best, share * compute / slowest + 1000 * 2.0 * (n - 1) / n * w / narrowest);
  }
};

BapipeInput random_input(Random& random) {
  BapipeInput input;
  const auto layers = 1 + static_cast<int>(random.below(7));
  const auto devices = 1 + static_cast<int>(random.below(4));
  const LayerChain one = random_chain(random, layers);
  for (const int samples : {1, 2, 4})
    if (samples == 1 || random.below(2) == 0) input.chains.push_back(scaled_chain(one, samples));
  input.cluster =
      random_cluster(random, devices, random.below(2) == 0 ? Execution::Async : Execution::Sync);
  input.minibatch_samples = 1 + static_cast<int>(random.below(12));
  if (random.below(3) == 0)
    input.memory_limit_bytes = 60 + static_cast<std::int64_t>(random.below(300));
  input.split_layers = false;
  return input;
}

LayerChain even_chain(int layers) {
  LayerChain chain;
  for (int l = 0; l < layers; ++l)
    chain.layers.push_back({.name = "layer" + std::to_string(l),
                            .forward_ms = 1,
                            .backward_input_ms = 2,
                            .sent_bytes = 1000,
                            .saved_bytes = 1 << 20,
                            .parameter_bytes = 1 << 20});
  return chain;
}

// By value: the compiler cannot tell that a reference would not point into `what`.
ComparedPlan compared(const Proposal& proposal, const std::string& what) {
  const auto found = std::ranges::find(proposal.compared, what, &ComparedPlan::what);
  std::string all;
  for (const ComparedPlan& row : proposal.compared) all += row.what + ": " + row.reason + "\n";
  INFO(what << " among\n" << all);
  REQUIRE(found != proposal.compared.end());
  return *found;
}

}  // namespace

TEST_CASE("the exploration finds the shortest step of all") {
  int impossible = 0, pipelines = 0, parallel = 0;
  for (std::uint64_t seed = 0; seed < 500; ++seed) {
    INFO("seed " << seed);
    Random random(seed, "bapipe exploration");
    const BapipeInput input = random_input(random);
    Exhaustive all{input};
    all.look_at_all();
    if (all.best == kImpossible) {
      ++impossible;
      CHECK_THROWS_AS(explore_bapipe(input), UsageError);
      continue;
    }
    const Proposal proposal = explore_bapipe(input);
    ++(proposal.schedule == std::string("data_parallel") ? parallel : pipelines);
    CHECK(proposal.step_ms == Approx(all.best).epsilon(1e-12));
    CHECK(std::ranges::count(proposal.compared, "", &ComparedPlan::reason) == 1);
    int next = 0;
    for (const ProposedStage& stage : proposal.stages) {
      CHECK(stage.first_layer == next);
      next = stage.last_layer + 1;
    }
    CHECK(next == std::ssize(input.chains[0].layers));
  }
  CHECK(impossible > 20);
  CHECK(pipelines > 100);
  CHECK(parallel > 50);
}

TEST_CASE("a proposal says what runs where, how fast, and what it takes") {
  BapipeInput input{
      .chains = {even_chain(8)}, .cluster = cluster_of({{4, 1e6}}), .minibatch_samples = 8};
  const Proposal proposal = explore_bapipe(input);
  // Two layers a stage: F + B = 6 ms; a transfer takes 1 ms, which 1f1b_so pays 6 times.
  CHECK(proposal.objective == "bapipe");
  CHECK(proposal.schedule == "1f1b_so");
  CHECK(proposal.microbatches == 8);
  CHECK(proposal.step_ms == 11 * 6 + 6 * 1);
  CHECK(proposal.bottleneck_ms == 6);
  CHECK(proposal.speedup.value() == Approx(8 * 24 / 72.0));
  REQUIRE(proposal.stages.size() == 4);
  CHECK(proposal.stages[1].first_layer == 2);
  CHECK(proposal.stages[1].last_layer == 3);
  CHECK(proposal.stages[1].devices == std::vector<int>{1});
  CHECK(proposal.stages[1].time_ms == 6);
  // 5 micro-batches of 2 MiB, and weights and gradients of 2 MiB each.
  CHECK(proposal.stages[1].memory_bytes == std::int64_t{14} << 20);
  CHECK(proposal.stages[1].first_share == 1);
  // Of 8 MiB, 3/4 are sent twice at 1 MB/s.
  CHECK(proposal.data_parallel_speedup.value() ==
        Approx(8 * 24 / (2 * 24 + 1000 * 1.5 * (8 << 20) / 1e6)));
  CHECK(compared(proposal, "1f1b_so, 8 micro-batches of 1").reason.empty());
  const ComparedPlan sno = compared(proposal, "1f1b_sno, 8 micro-batches of 1");
  CHECK(sno.step_ms == 66 + 2 * 10 * 1);
  CHECK(sno.reason == "takes 1.194 times as long");
}

TEST_CASE("if the doubled warm-up does not fit, transfers are paid for") {
  BapipeInput input{
      .chains = {even_chain(8)}, .cluster = cluster_of({{4, 1e6}}), .minibatch_samples = 8};
  // Stage 0 of 1f1b_so keeps 7 micro-batches of 2 MiB and 4 MiB of weights, of 1f1b_sno 4.
  input.memory_limit_bytes = std::int64_t{12} << 20;
  const Proposal proposal = explore_bapipe(input);
  CHECK(proposal.schedule == "1f1b_sno");
  const ComparedPlan balanced = compared(proposal, "1f1b_so, 8 micro-batches of 1, balanced");
  CHECK_FALSE(balanced.step_ms);
  CHECK_THAT(balanced.reason, Contains("stage 0 needs 18 MiB on device 'device-0', which has 12 "
                                       "MiB: 6 MiB too many"));
  // A layer takes 9, 7, 5 and 3 MiB on stages 0 to 3, so that they hold 1, 1, 2 and 4.
  CHECK(compared(proposal, "1f1b_so, 8 micro-batches of 1, cut to fit the memory").step_ms ==
        11 * 12 + 6 * 1);
}

TEST_CASE("on asynchronous devices the link decides between the schedules") {
  BapipeInput input{.chains = {even_chain(4)},
                    .cluster = cluster_of({{2, 0.45e6}}),
                    .minibatch_samples = 4,
                    .memory_limit_bytes = {},
                    .split_layers = true};
  for (Cluster::Device& device : input.cluster.devices) device.execution = Execution::Async;
  // A transfer takes 2.22 ms: more than F = 2, less than (F + B) / 2 = 3.
  const Proposal proposal = explore_bapipe(input);
  CHECK(proposal.schedule == "fbp_as");
  CHECK(proposal.step_ms == 5 * 6);
  CHECK_THAT(compared(proposal, "1f1b_as, 4 micro-batches of 1, balanced").reason,
             Contains("the transfer from stage 0 to 1 takes 2.22222 ms, more than F = 2 ms hides"));
  // One layer against three: F = 3 hides it.
  CHECK(compared(proposal, "1f1b_as, 4 micro-batches of 1, cut to hide transfers").step_ms ==
        5 * 9);
}

TEST_CASE("asynchronous neighbours share a layer if whole layers cannot be balanced") {
  BapipeInput input{
      .chains = {even_chain(3)}, .cluster = cluster_of({{2, 1e8}}), .minibatch_samples = 4};
  for (Cluster::Device& device : input.cluster.devices) device.execution = Execution::Async;
  const Proposal proposal = explore_bapipe(input);
  CHECK(proposal.step_ms == Approx(5 * 4.5));
  REQUIRE(proposal.stages.size() == 2);
  CHECK(proposal.stages[0].last_layer == 1);
  CHECK(proposal.stages[1].first_layer == 1);
  CHECK(proposal.stages[0].last_share + proposal.stages[1].first_share == Approx(1));
  CHECK(proposal.stages[0].last_share == Approx(0.5));
  CHECK(proposal.stages[0].first_share == 1);
  CHECK(compared(proposal, "1f1b_as, 4 micro-batches of 1, layer 'layer1' shared by stages 0 and 1")
            .reason.empty());
  CHECK(compared(proposal, "1f1b_as, 4 micro-batches of 1").step_ms == 5 * 6);
  input.split_layers = false;
  CHECK(explore_bapipe(input).step_ms == 5 * 6);
}

TEST_CASE("a model of fewer layers than devices is trained in parallel") {
  BapipeInput input{
      .chains = {even_chain(2)}, .cluster = cluster_of({{3, 1e9}}), .minibatch_samples = 6};
  const Proposal proposal = explore_bapipe(input);
  CHECK(proposal.schedule == "data_parallel");
  REQUIRE(proposal.stages.size() == 1);
  CHECK(proposal.stages[0].replicas == 3);
  CHECK(proposal.stages[0].devices == std::vector<int>{0, 1, 2});
  CHECK_THAT(compared(proposal, "1f1b_so, 6 micro-batches of 1").reason,
             Contains("3 devices need a layer each, but there are 2"));
}

TEST_CASE("a model that fits nowhere is refused with every reason") {
  BapipeInput input{.chains = {even_chain(4), scaled_chain(even_chain(4), 3)},
                    .cluster = cluster_of({{2, 1e6}}),
                    .minibatch_samples = 4};
  input.memory_limit_bytes = 1 << 20;
  CHECK_THROWS_AS(explore_bapipe(input), UsageError);
  CHECK_THROWS_WITH(
      explore_bapipe(input),
      Contains("1f1b_sno, 4 micro-batches of 1: stage 0 needs 8 MiB on device 'device-0', which "
               "has 1 MiB: 7 MiB too many; no other cut avoids that") &&
          Contains("data_parallel, 4 micro-batches of 1: the whole model needs 12 MiB") &&
          Contains("micro-batches of 3: a mini-batch of 4 samples does not divide into them") &&
          Contains("write smaller micro-batches"));
}

TEST_CASE(
    "a chain for other micro-batches has times and bytes in proportion, and the same parameters") {
  LayerChain chain = even_chain(1);
  chain.microbatch_samples = 4;
  const LayerChain scaled = scaled_chain(chain, 6);
  CHECK(scaled.microbatch_samples == 6);
  CHECK(scaled.layers[0].forward_ms == 1.5);
  CHECK(scaled.layers[0].backward_input_ms == 3);
  CHECK(scaled.layers[0].sent_bytes == 1500);
  CHECK(scaled.layers[0].saved_bytes == 3 << 19);
  CHECK(scaled.layers[0].parameter_bytes == 1 << 20);
}
