// No thread count changes a bit: whatever is added up over samples, or over positions, is added up
// in an order that the model alone gives.
#include "catch.hpp"
#include "training.hpp"

using namespace pipetrain;
using namespace pipetrain::testing;

namespace {

// Convolutions of every kind that has a weight gradient of its own: of plain images, by Winograd,
// strided, pointwise, in groups that are merged, depthwise, of few channels, of small images.
const char* const convolutions = R"(
name = "convolutions"
input = { shape = [3, 32, 32] }
layers = [
  { name = "plain", kind = "conv2d", out_channels = 16, kernel = 3, padding = 1 },
  { name = "bn", kind = "batch_norm" },
  { name = "relu1", kind = "relu" },
  { name = "wide", kind = "conv2d", out_channels = 64, kernel = 1 },
  { name = "winograd", kind = "conv2d", out_channels = 64, kernel = 3, padding = 1, bias = false },
  { name = "grouped", kind = "conv2d", out_channels = 32, kernel = 3, padding = 1, groups = 8 },
  { name = "depthwise", kind = "conv2d", out_channels = 32, kernel = 3, padding = 1, groups = 32 },
  { name = "strided", kind = "conv2d", out_channels = 16, kernel = 3, stride = 2, padding = 1 },
  { name = "pool", kind = "max_pool", kernel = 2 },
  { name = "narrow", kind = "conv2d", out_channels = 4, kernel = 1 },
  { name = "few", kind = "conv2d", out_channels = 16, kernel = 3 },
  { name = "small", kind = "conv2d", out_channels = 32, kernel = 3, stride = 2 },
  { name = "flatten", kind = "flatten" },
  { name = "fc", kind = "linear", out_features = 5 },
]
)";

// Layers over the positions of a sequence, with weight gradients over 27 x 80 rows.
const char* const positions = R"(
name = "positions"
input = { shape = [80, 48] }
layers = [
  { name = "lstm", kind = "lstm", hidden_size = 24 },
  { name = "wide", kind = "linear", out_features = 128 },
  { name = "relu", kind = "relu" },
  { name = "narrow", kind = "linear", out_features = 40 },
  { name = "flatten", kind = "flatten" },
  { name = "fc", kind = "linear", out_features = 5 },
]
)";

}  // namespace

TEST_CASE("no number of threads changes a bit", "[threads]") {
  const std::string model = GENERATE(as<std::string>(), convolutions, positions);
  const std::string precision = GENERATE("f32", "bf16");
  const int microbatches = GENERATE(1, 3);  // 3: gradients accumulate, parts are uneven
  const auto trained = [&](int threads, int stages) {
    Config config = make_config({.stages = stages, .microbatches = microbatches, .backend = "cpu"});
    config.data.batch_size = 27;
    config.training.precision = word_named<Precision>(precision).value();
    config.hardware.threads_per_stage = threads;
    return train({.model = model, .config = config, .steps = 2});
  };
  const Trained one = trained(1, 1);
  for (const int threads : {2, 3, 6})
    for (const int stages : {1, 2}) {
      INFO(precision << ", " << threads << " threads, " << stages << " stages");
      const Trained more = trained(threads, stages);
      CHECK(one.losses == more.losses);
      CHECK(same_bits(one.parameters, more.parameters));
    }
}
