// Models that are cut, with a clock around every kernel.
#include "profile/watched_training.hpp"

#include "catch.hpp"
#include "data/formats.hpp"
#include "graph/graph.hpp"
#include "graph/read.hpp"

using namespace pipetrain;

// The second stage sums two gradients of what the first one sends.
TEST_CASE("a sum of gradients of an earlier stage's output counts for the first layer here",
          "[profile]") {
  const Graph graph = read_model_text(R"(
name = "skip"
input = { shape = [6] }
layers = [
  { name = "in", kind = "linear", out_features = 8 }, { name = "relu", kind = "relu" },
  { name = "block", kind = "linear", out_features = 8 },
  { name = "sum", kind = "add", inputs = ["block", "relu"] },
  { name = "out", kind = "linear", out_features = 3 },
]
)",
                                      "test");
  const auto data = draw_synthetic({.samples = 16, .seed = 3, .part = "train"}, graph);
  Config config;
  config.hardware.backend = "reference";
  WatchedTraining training(
      {.config = config, .graph = graph, .data = *data, .samples = 4, .firsts = {0, 2}});
  training.run(2);
  training.end_lot(2);
  const std::vector<LayerTimes> times = training.clock(1).medians();
  REQUIRE(times.size() == 3);
  CHECK(times[0].backward_input_ms > 0);
}

// Of three micro-batches the first writes the gradient; the last has the update in it where the
// layer's kernels can.
TEST_CASE("the first weight gradient of a mini-batch is timed apart from the others", "[profile]") {
  const Graph graph = read_model_text(R"(
name = "line"
input = { shape = [6] }
layers = [{ name = "out", kind = "linear", out_features = 3 }]
)",
                                      "test");
  const auto data = draw_synthetic({.samples = 16, .seed = 3, .part = "train"}, graph);
  Config config;
  config.hardware.backend = "reference";
  WatchedTraining training(
      {.config = config, .graph = graph, .data = *data, .samples = 4, .microbatches = 3});
  training.run(2);
  training.end_lot(2);
  const LayerClock& clock = training.clock(0);
  CHECK(clock.median_ms(LayerWork::FirstWeight) > 0);
  CHECK(clock.median_ms(LayerWork::BackwardWeight) > 0);
}
