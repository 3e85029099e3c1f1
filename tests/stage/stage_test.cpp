// A stage's passes, called by hand: the halves of a backward may be run separately, and cuts may be
// anywhere.
#include "stage/stage.hpp"

#include "backends.hpp"
#include "base/check.hpp"
#include "base/rng.hpp"
#include "catch.hpp"
#include "chain.hpp"
#include "graph/graph.hpp"
#include "graph/read.hpp"
#include "runtime/random_model.hpp"

using namespace pipetrain;
using namespace pipetrain::testing;

namespace {

void check_same(const ChainResult& a, const ChainResult& b) {
  CHECK(a.losses == b.losses);
  CHECK(a.sums_of_squares == b.sums_of_squares);
  CHECK(a.parameters == b.parameters);
}

// Stages at random cuts, up to about `most` on average.
std::vector<int> random_cuts(Random& random, int layers, int most) {
  std::vector<int> firsts = {0};
  const auto stages = 1 + static_cast<int>(random.below(static_cast<std::uint64_t>(most)));
  for (int l = 1; l < layers; ++l)
    if (static_cast<int>(random.below(static_cast<std::uint64_t>(layers))) < stages)
      firsts.push_back(l);
  return firsts;
}

}  // namespace

TEST_CASE("a backward in parts gives the bits of a whole one, at any cut", "[stage][backends]") {
  const std::string backend = GENERATE(from_range(backend_names()));
  const std::uint64_t seeds = backend == "reference" ? 25 : 10;
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    const std::string model = random_model(seed, {.layers = 4 + static_cast<int>(seed % 7)});
    const Graph graph = read_model_text(model, "test");
    Random random(seed, "cuts");
    const auto cuts = random_cuts(random, static_cast<int>(graph.layers.size()), 5);
    INFO(backend << ", seed " << seed << ", " << cuts.size() << " stages\n" << model);
    const ChainResult whole = run_chain({.graph = graph, .backend = backend});
    REQUIRE(whole.sums_of_squares.front() > 0);
    for (const Backward backward :
         {Backward::Fused, Backward::Sent, Backward::Halves, Backward::Deferred}) {
      INFO("backward " << static_cast<int>(backward));
      check_same(
          whole,
          run_chain({.graph = graph, .backend = backend, .firsts = cuts, .backward = backward}));
    }
  }
}

TEST_CASE("gradients of several micro-batches add up", "[stage]") {
  const Graph graph = read_model_text(random_model(3, {.layers = 5, .batch_norm = false}), "test");
  const ChainResult one = run_chain({.graph = graph, .microbatches = 1, .steps = 1}),
                    two = run_chain({.graph = graph, .microbatches = 2, .steps = 1});
  CHECK(one.losses != two.losses);
  CHECK(one.sums_of_squares != two.sums_of_squares);
}

TEST_CASE("a size that was not prepared is our own mistake", "[stage]") {
  const Graph graph = read_model_text(random_model(1), "test");
  const auto backend = make_backend("reference");
  const LoweredModel model(graph, backend->lower(graph, {.samples = 2}));
  const OptimizerConfig optimizer;
  Stage stage({.model = model,
               .backend = *backend,
               .optimizer = optimizer,
               .id = {0},
               .first = {0},
               .last = {static_cast<int>(graph.layers.size()) - 1}});
  stage.prepare({2, Mode::Train});
  PassCall call;
  call.size = {3, Mode::Train};
  CHECK_THROWS_AS(stage.forward(call), InternalError);
  call.size = {2, Mode::Evaluate};
  CHECK_THROWS_AS(stage.forward(call), InternalError);
}
