// What a candidate's workers will send, by its program and the chain's bytes.
#include "catch.hpp"
#include "plan/search/candidate.hpp"
#include "schedules.hpp"

using namespace pipetrain;

namespace {

// Layers of 1 ms, a kilobyte over the cut after each and 100 bytes of parameters.
LayerChain even(int layers) {
  LayerChain chain{.layers = {}, .microbatch_samples = 4};
  chain.layers.resize(static_cast<std::size_t>(layers),
                      {.name = "", .forward_ms = 1, .sent_bytes = 1000, .parameter_bytes = 100});
  return chain;
}

ProposedCommunication sends(const Candidate& candidate) {
  const LayerChain chain = even(4);
  const Cluster cluster = cluster_of({{.size = 8, .bytes_per_second = 1e9}});
  return candidate_sends({.chain = chain, .cluster = cluster}, candidate);
}

Candidate of(const char* schedule, int workers, std::vector<int> firsts) {
  return {.schedule = &require_schedule(schedule),
          .workers = workers,
          .microbatches = 4,
          .firsts = std::move(firsts)};
}

}  // namespace

TEST_CASE("every micro-batch crosses a cut twice", "[communication]") {
  const auto [minibatches, all] = sends(of("1f1b", 2, {0, 2}));
  CHECK(minibatches == 1);
  CHECK(all.stages[1].activations == Volume{4000, 4});
  CHECK(all.stages[0].gradients == Volume{4000, 4});
  CHECK(all.total() == Volume{8000, 8});
  CHECK(sends(of("zb_v", 2, {0, 1, 2, 3})).communication.total() == Volume{16000, 16});
  const auto together = sends(of("timeprest", 2, {0, 2})).communication;
  CHECK(together.stages[0].gradients == Volume{4000, 1});
}

TEST_CASE("replicas add up their gradients for each update", "[communication]") {
  Candidate candidate = of("gpipe", 2, {0, 3});
  candidate.replicas = {3, 1};
  CHECK(sends(candidate).communication.stages[0].all_reduce == Volume{2 * 2 * 300, 2 * 2 * 3});
  candidate.schedule = &require_schedule("pipedream");
  const auto [minibatches, all] = sends(candidate);
  CHECK(minibatches == 3);
  CHECK(all.stages[0].all_reduce == Volume{2 * 2 * 300, 2 * 2 * 3});
  CHECK(all.stages[1].activations == Volume{12000, 12});
  CHECK(sends(of("data_parallel", 4, {0})).communication.total() == Volume{2 * 3 * 400, 2 * 3 * 4});
}
