// One stage's update: its rule by hand, where it writes, and what a skipped one leaves.
#include "stage/optimizer.hpp"

#include <algorithm>

#include "catch.hpp"
#include "checkpoint/state.hpp"
#include "graph/graph.hpp"
#include "graph/read.hpp"

using namespace pipetrain;

namespace {

// y = W x, one weight matrix of 1 x 2.
struct OneWeight {
  explicit OneWeight(const OptimizerConfig& config, int copies = 1)
      : graph(read_model_text(R"(
input = { shape = [2] }
loss = "mse"
layers = [ { name = "fc", kind = "linear", out_features = 1, bias = false } ]
)",
                              "test")),
        backend(make_backend("reference")),
        lowering(backend->lower(graph, {.samples = 1})),
        stream(backend->make_stream({})),
        memory(*stream),
        weights({graph, *lowering, *stream, {0}, {0}, copies}, memory),
        optimizer(*stream, config, {}, weights, graph.layers, stage_ties(graph, {0}, {0}), memory) {
  }
  void set(float a, float b) {
    weights.parameter(0, 0)[0] = a;
    weights.parameter(0, 0)[1] = b;
  }
  void step(float gradient_a, float gradient_b, double lr, double scale = 1) {
    auto* const gradient = static_cast<float*>(optimizer.gradients(0)[0]);
    gradient[0] = gradient_a;
    gradient[1] = gradient_b;
    optimizer.apply(weights, {.own = {.lr = lr, .gradient_scale = scale}, .step = ++steps});
    weights.advance();
  }
  float weight(int i) const { return weights.parameter(0, 0)[i]; }
  Graph graph;
  std::unique_ptr<Backend> backend;
  std::unique_ptr<const Lowering> lowering;
  std::unique_ptr<Stream> stream;
  StageMemory memory;
  WeightStore weights;
  StageOptimizer optimizer;
  int steps = 0;
};

}  // namespace

TEST_CASE("plain sgd", "[optimizer]") {
  OneWeight rig({.kind = OptimizerKind::Sgd});
  rig.set(1, 2);
  rig.step(0.5f, -1, 0.1);
  CHECK(rig.weight(0) == Approx(0.95));
  CHECK(rig.weight(1) == Approx(2.1));
  MemoryAccount account = rig.memory.account();
  CHECK(account[Use::Optimizer] == 0);
  CHECK(account[Use::Gradients] == 2 * sizeof(float));
}

TEST_CASE("momentum and weight decay", "[optimizer]") {
  OneWeight rig({.kind = OptimizerKind::Sgd, .momentum = 0.5, .weight_decay = 0.1});
  rig.set(1, 0);
  rig.step(1, 1, 0.1);  // v = 1 + 0.1 * 1, 1
  CHECK(rig.weight(0) == Approx(0.89));
  CHECK(rig.weight(1) == Approx(-0.1));
  rig.step(0, 0, 0.1);  // v = 0.55 + 0.089, 0.5 - 0.01
  CHECK(rig.weight(0) == Approx(0.89 - 0.0639));
  CHECK(rig.weight(1) == Approx(-0.1 - 0.049));
  MemoryAccount account = rig.memory.account();
  CHECK(account[Use::Optimizer] == 2 * sizeof(float));
}

TEST_CASE("a rule has room and names for as many moments as it keeps", "[optimizer]") {
  const auto kept = [](const OptimizerConfig& config) {
    MemoryAccount account = OneWeight(config).memory.account();
    CHECK(account[Use::Optimizer] == moments(config) * 2 * sizeof(float));
    CHECK(static_cast<int>(moment_names(config).size()) == moments(config));
    return moments(config);
  };
  CHECK(kept({.kind = OptimizerKind::Sgd}) == 0);
  CHECK(kept({.kind = OptimizerKind::Sgd, .momentum = 0.5}) == 1);
  CHECK(kept({.kind = OptimizerKind::Adam}) == 2);
  CHECK(kept({.kind = OptimizerKind::AdamW}) == 2);
}

TEST_CASE("adam's first step is the rate itself, whatever the gradient", "[optimizer]") {
  OneWeight rig({.kind = OptimizerKind::Adam});
  rig.set(1, 1);
  rig.step(3, -0.01f, 0.1);
  CHECK(rig.weight(0) == Approx(0.9).epsilon(1e-5));
  CHECK(rig.weight(1) == Approx(1.1).epsilon(1e-5));
  MemoryAccount account = rig.memory.account();
  CHECK(account[Use::Optimizer] == 4 * sizeof(float));
}

TEST_CASE("adamw decays beside the step", "[optimizer]") {
  OneWeight rig({.kind = OptimizerKind::AdamW, .weight_decay = 0.5});
  rig.set(1, 1);
  rig.step(1, -1, 0.1);
  CHECK(rig.weight(0) == Approx(0.85).epsilon(1e-5));  // 1 - 0.1 * 0.5, then the step
  CHECK(rig.weight(1) == Approx(1.05).epsilon(1e-5));
}

TEST_CASE("decay = matrices leaves out parameters of one dimension", "[optimizer]") {
  const Graph graph = read_model_text(R"(
input = { shape = [2] }
loss = "mse"
layers = [ { name = "fc", kind = "linear", out_features = 1 } ]
)",
                                      "test");
  for (const std::string decay : {"all", "matrices"}) {
    const auto backend = make_backend("reference");
    const auto lowering = backend->lower(graph, {.samples = 1});
    const auto stream = backend->make_stream({});
    StageMemory memory(*stream);
    WeightStore weights({graph, *lowering, *stream, {0}, {0}, 1}, memory);
    StageOptimizer optimizer(*stream,
                             {.kind = OptimizerKind::Sgd,
                              .weight_decay = 0.5,
                              .decay = word_named<Decayed>(decay).value()},
                             {}, weights, graph.layers, stage_ties(graph, {0}, {0}), memory);
    weights.parameter(0, 0)[0] = weights.parameter(0, 1)[0] = 1;
    double sums[2] = {};
    const FusedUpdate* const fused = optimizer.fused(weights, 0, 0.1, 1, sums);
    REQUIRE(fused);
    CHECK(fused->rules[0].weight_decay == 0.5);
    CHECK(fused->rules[1].weight_decay == (decay == "all" ? 0.5 : 0.0));
    const StageUpdate update{.own = {.lr = 0.1}};
    optimizer.apply(weights, update);  // all but that layer
    CHECK(weights.parameter(0, 0)[0] == 1);
    optimizer.apply(weights, update);  // by gradients of 0
    CHECK(weights.parameter(0, 0)[0] == Approx(0.95));
    CHECK(weights.parameter(0, 1)[0] == Approx(decay == "all" ? 0.95 : 1));
  }
}

TEST_CASE("clipping scales the gradient", "[optimizer]") {
  OneWeight rig({.kind = OptimizerKind::Sgd});
  rig.set(0, 0);
  rig.step(2, 4, 1, 0.25);
  CHECK(rig.weight(0) == Approx(-0.5));
  CHECK(rig.weight(1) == Approx(-1));
}

TEST_CASE("the norm's parts are sums of squares of the gradient", "[optimizer]") {
  OneWeight rig({.kind = OptimizerKind::Sgd});
  rig.step(3, -4, 0);
  std::vector<double> sums(1);
  rig.optimizer.sums_of_squares(sums, StageOptimizer::Sums::All);
  CHECK(sums[0] == 25.0);
}

TEST_CASE("an update leaves kept versions alone", "[optimizer]") {
  OneWeight rig({.kind = OptimizerKind::Sgd}, 2);
  rig.set(1, 2);
  const float* const old = rig.weights.parameter(0, 0);
  rig.step(1, 1, 0.5);
  CHECK(old[0] == 1);
  CHECK(old[1] == 2);
  CHECK(rig.weight(0) == 0.5f);
  CHECK(rig.weight(1) == 1.5f);
}

TEST_CASE("a skipped update makes a version that equals the one before", "[optimizer]") {
  const int copies = GENERATE(1, 2, 3);
  OneWeight rig({.kind = OptimizerKind::Sgd, .momentum = 0.5}, copies);
  rig.set(1, 2);
  rig.step(1, 1, 1);  // v = 1: 0, 1
  rig.optimizer.apply(rig.weights, {.own = {.skip = true}});
  rig.weights.advance();
  CHECK(rig.weights.live() == Version{2});
  CHECK(rig.weight(0) == 0);
  CHECK(rig.weight(1) == 1);
  rig.step(0, 0, 1);  // the velocity is what the last update left
  CHECK(rig.weight(0) == -0.5f);
  CHECK(rig.weight(1) == 0.5f);
}
