// Layers that are not trained: the other layers get the bits that learning rates of 0 would give,
// and the frozen ones take no gradient, no moment and one version.
#include "catch.hpp"
#include "graph/graph.hpp"
#include "graph/read.hpp"
#include "training.hpp"

using namespace pipetrain;
using namespace pipetrain::testing;

namespace {

Config frozen(Config config, const std::vector<std::string>& trainable) {
  config.model.trainable = {trainable};
  return config;
}

// The same by learning rates: everything is computed, and moves by nothing.
Config still(Config config, const std::vector<std::string>& trainable) {
  config.optimizer.lr_names = {trainable};
  config.optimizer.lr_factors.assign(trainable.size(), 1);
  config.optimizer.lr_names.patterns.emplace_back("*");
  config.optimizer.lr_factors.push_back(0);
  return config;
}

const std::vector<std::string>& patterns_of(int choice) {
  static const std::vector<std::vector<std::string>> all = {
      {"fc*"}, {"fc.*"}, {"conv2.*", "bn2.*"}, {"*.bias"}};
  return all[choice];
}

std::size_t bytes(const Trained& trained, Use use) {
  std::size_t sum = 0;
  for (const HeldMemory& stage : trained.measured) sum += stage.training[use];
  return sum;
}

}  // namespace

TEST_CASE(
    "frozen parameters keep their values, and the rest moves as it would at rates of 0 for them",
    "[fine-tuning][backends]") {
  const std::string schedule = GENERATE("gpipe", "1f1b", "zb_h1", "pipedream", "pipedream_2bw");
  const auto choice = GENERATE(0, 1, 2, 3);
  const std::vector<std::string>& trainable = patterns_of(choice);
  for (const int stages : {1, 3}) {
    const Config config = make_config({.stages = stages, .schedule = schedule});
    const TrainingSetup setup{.model = residual_model, .config = config};
    TrainingSetup less = setup, slow = setup;
    less.config = frozen(config, trainable);
    slow.config = still(config, trainable);
    const Trained few = train(less), all = train(slow);
    INFO(schedule << ", " << stages << " stages, choice " << choice);
    CHECK(few.losses == all.losses);
    CHECK(same_bits(few.parameters, all.parameters));
    CHECK(few.predicted == few.measured);
    CHECK(bytes(few, Use::Optimizer) < bytes(all, Use::Optimizer));
  }
}

TEST_CASE("stages and workers change no bit if only a part is trained", "[fine-tuning][backends]") {
  for (int choice = 0; choice < 4; ++choice) {
    const Trained one =
        train({.model = residual_model, .config = frozen(make_config({}), patterns_of(choice))});
    for (const int stages : {2, 4, 13})
      for (const std::string workers : {"threads", "inline"}) {
        const Trained many =
            train({.model = residual_model,
                   .config = frozen(make_config({.stages = stages, .workers = workers}),
                                    patterns_of(choice))});
        INFO(stages << " stages, " << workers << ", choice " << choice);
        CHECK(many.losses == one.losses);
        CHECK(same_bits(many.parameters, one.parameters));
      }
  }
}

TEST_CASE("frozen layers keep one version, no gradient and no moment", "[fine-tuning]") {
  const Config config = make_config({.stages = 4, .microbatches = 1, .schedule = "pipedream"});
  const Trained all = train({.model = mlp_model, .config = config}),
                few = train({.model = mlp_model, .config = frozen(config, {"fc3.*"})});
  const std::size_t head = (16 * 5 + 5) * sizeof(float);
  CHECK(bytes(few, Use::Gradients) < bytes(all, Use::Gradients) / 2);
  CHECK(bytes(few, Use::Gradients) >= head);
  CHECK(bytes(few, Use::Weights) < bytes(all, Use::Weights));
  CHECK(few.predicted == few.measured);
}

TEST_CASE("a frozen batch norm still notes what passes", "[fine-tuning]") {
  const Config config = frozen(make_config({.stages = 2}), {"fc.*"});
  const Trained trained = train({.model = residual_model, .config = config});
  const Graph graph = read_model_text(residual_model, "test");
  const NamedTensors before = initial_parameters(graph, config.training.seed);
  CHECK(trained.parameters.at("bn1.weight").values == before.at("bn1.weight").values);
  CHECK(trained.parameters.at("bn1.running_mean").values != before.at("bn1.running_mean").values);
  CHECK(trained.parameters.at("fc.weight").values != before.at("fc.weight").values);
}

TEST_CASE("every schedule trains a part of a model", "[fine-tuning]") {
  for (const std::string& schedule : never_drained) {
    const Config config = frozen(
        make_config({.stages = 3, .microbatches = 4, .schedule = schedule}), {"fc3.*", "fc2.bias"});
    const Trained threads = train({.model = mlp_model, .config = config, .steps = 12});
    Config inline_config = config;
    inline_config.hardware.workers = Workers::Inline;
    const Trained in_turn = train({.model = mlp_model, .config = inline_config, .steps = 12});
    INFO(schedule);
    CHECK(same_bits(threads.parameters, in_turn.parameters));
    CHECK(threads.predicted == threads.measured);
  }
}

TEST_CASE("a frozen parameter of several layers is one", "[fine-tuning]") {
  const Config config = make_config({.stages = 3});
  const Trained few = train({.model = tied_model, .config = frozen(config, {"out.*", "b.bias"})}),
                all = train({.model = tied_model, .config = still(config, {"out.*", "b.bias"})});
  CHECK(same_bits(few.parameters, all.parameters));
}
