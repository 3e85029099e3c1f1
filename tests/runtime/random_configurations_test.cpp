// Whatever the cut and the kind of worker: a flushing schedule gives the bits of one stage.
#include "base/rng.hpp"
#include "catch.hpp"
#include "graph/graph.hpp"
#include "graph/read.hpp"
#include "random_model.hpp"
#include "training.hpp"

using namespace pipetrain;
using namespace pipetrain::testing;

namespace {

int between(Random& random, int low, int high) {
  return low + static_cast<int>(random.below(static_cast<std::uint64_t>(high - low + 1)));
}

std::string one_of(Random& random, std::initializer_list<const char*> choices) {
  return *(choices.begin() + random.below(choices.size()));
}

// The first layers of all stages but the first, at random places.
std::vector<std::string> random_split(Random& random, const Graph& graph, int stages) {
  const int layers = static_cast<int>(graph.layers.size());
  std::vector<std::string> names;
  int left = stages - 1;
  for (int l = 1; l < layers && left > 0; ++l)
    if (between(random, 1, layers - l) <= left) {
      names.push_back(graph.layers[static_cast<std::size_t>(l)].name);
      --left;
    }
  return names;
}

}  // namespace

TEST_CASE("random configurations equal one stage, bit for bit", "[equivalence]") {
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    Random random(seed, "random configurations");
    const std::string model =
        random_model(seed, {.layers = between(random, 3, 8), .batch_norm = seed % 2 == 0});
    const Graph graph = read_model_text(model, "test");
    Config config = make_config({.stages = 1,
                                 .microbatches = between(random, 1, 6),
                                 .schedule = one_of(random, {"gpipe", "1f1b"}),
                                 .workers = one_of(random, {"threads", "inline"}),
                                 .backend = one_of(random, {"reference", "cpu"})});
    config.data.batch_size = between(random, config.pipeline.microbatches, 12);
    config.data.drop_last = between(random, 0, 1) == 0;
    config.optimizer.kind = word_named<OptimizerKind>(one_of(random, {"sgd", "adam"})).value();
    config.optimizer.max_norm = between(random, 0, 1) == 0 ? 0 : 0.5;
    config.training.seed = seed;
    const TrainingSetup setup{
        .model = model, .config = config, .steps = 2, .samples = config.data.batch_size * 3 / 2};
    const Trained one = train(setup);

    TrainingSetup cut = setup;
    const int stages = between(random, 1, 6);
    cut.config.pipeline.stages = stages;
    cut.config.pipeline.split = {.rule = SplitRule::FirstLayers,
                                 .first_layers = random_split(random, graph, stages)};
    cut.config.hardware.workers =
        word_named<Workers>(one_of(random, {"threads", "inline"})).value();
    INFO("seed " << seed << ": " << stages << " stages, " << config.pipeline.microbatches
                 << " micro-batches of " << config.data.batch_size << " samples, "
                 << cut.config.pipeline.schedule << ", " << word_of(cut.config.hardware.workers)
                 << ", " << config.hardware.backend << "\n"
                 << model);
    REQUIRE(cut.config.pipeline.split.first_layers.size() == static_cast<std::size_t>(stages - 1));
    const Trained many = train(cut);
    REQUIRE(many.losses == one.losses);
    REQUIRE(many.norms == one.norms);
    REQUIRE(same_bits(many.parameters, one.parameters));
  }
}
