// Dropout in a pipeline: masks depend on seed, step and micro-batch, and on nothing else.
#include "backends.hpp"
#include "catch.hpp"
#include "graph/graph.hpp"
#include "graph/read.hpp"
#include "training.hpp"

using namespace pipetrain;
using namespace pipetrain::testing;

namespace {

std::string model(double p) {
  return R"(
name = "drops"
input = { shape = [12] }
layers = [
  { name = "drop0", kind = "dropout", p = )" +
         std::to_string(p) + R"( },
  { name = "fc1", kind = "linear", out_features = 16 },
  { name = "drop1", kind = "dropout", p = )" +
         std::to_string(p) + R"( },
  { name = "fc2", kind = "linear", out_features = 16 },
  { name = "drop2", kind = "dropout", p = )" +
         std::to_string(p) + R"( },
  { name = "fc3", kind = "linear", out_features = 5 },
]
)";
}

// The same initial weights and the same order of samples, whatever the config's seed.
Trained run(const std::string& text, const Config& config) {
  return train({.model = text,
                .config = config,
                .samples = 16,
                .parameters = initial_parameters(read_model_text(text, "test"), 1)});
}

}  // namespace

TEST_CASE("dropout is the same on any stages and workers", "[dropout][backends]") {
  const std::string backend = GENERATE(from_range(backend_names()));
  const std::string text = model(0.4);
  const Trained one = run(text, make_config({.backend = backend}));
  for (const int stages : {1, 2, 3, 6})
    for (const std::string workers : {"threads", "inline"}) {
      INFO(backend << ", " << stages << " stages, " << workers);
      const Trained many =
          run(text, make_config({.stages = stages, .workers = workers, .backend = backend}));
      CHECK(many.losses == one.losses);
      CHECK(same_bits(many.parameters, one.parameters));
    }
}

TEST_CASE("another seed drops other elements", "[dropout]") {
  Config config = make_config({.stages = 2});
  const Trained one = run(model(0.4), config), sure = run(model(0), config);
  config.training.seed = 2;
  CHECK(run(model(0.4), config).losses[0] != one.losses[0]);
  CHECK(run(model(0), config).losses == sure.losses);  // only dropout reads the seed here
}

TEST_CASE("every step drops other elements", "[dropout]") {
  Config config = make_config({.stages = 2});
  config.optimizer.lr = 0;
  config.data.shuffle = false;  // 16 samples, one mini-batch: each step sees the same
  const Trained dropped = run(model(0.4), config), sure = run(model(0), config);
  for (std::size_t step = 1; step < 4; ++step) {
    CHECK(dropped.losses[step] != dropped.losses[0]);
    CHECK(sure.losses[step] == sure.losses[0]);
  }
}
