// A gradient that is not finite: the run stops and says where it began, or leaves that update out.
#include <cmath>
#include <limits>

#include "altered_data.hpp"
#include "app/report.hpp"
#include "base/error.hpp"
#include "catch.hpp"
#include "data/formats.hpp"
#include "graph/read.hpp"
#include "training.hpp"

using namespace pipetrain;
using namespace pipetrain::testing;

namespace {

// File order, 16 a mini-batch: sample 35 is in the third.
constexpr std::int64_t bad_sample = 35, bad_step = 2;

std::unique_ptr<const Dataset> poisoned() {
  const Graph graph = read_model_text(mlp_model, "test");
  return altered_data(draw_synthetic({.samples = 64, .seed = 3, .part = "train"}, graph),
                      [](std::int64_t index, float* input) {
                        if (index == bad_sample) input[4] = std::numeric_limits<float>::infinity();
                      });
}

Config config_of(const ConfigChoice& choice, const std::string& on_nonfinite) {
  Config config = make_config(choice);
  config.data.shuffle = false;
  config.training.on_nonfinite = on_nonfinite;
  return config;
}

bool all_finite(const NamedTensors& tensors) {
  for (const auto& [name, tensor] : tensors)
    for (const float x : std::get<std::vector<float>>(tensor.values))
      if (!std::isfinite(x)) return false;
  return true;
}

}  // namespace

TEST_CASE("skip leaves one update out, at any number of stages", "[nonfinite]") {
  const std::string backend = GENERATE("reference", "cpu");
  const std::string workers = GENERATE("threads", "inline");
  const auto data = poisoned();
  Trained one;
  for (const int stages : {1, 2, 3, 6}) {
    INFO(backend << ", " << workers << ", " << stages << " stages");
    const Config config =
        config_of({.stages = stages, .workers = workers, .backend = backend}, "skip");
    std::vector<std::vector<bool>> skipped;
    TrainingSetup setup{.model = mlp_model, .config = config, .data = data.get()};
    setup.on_step = [&](const StepRecord& record) {
      skipped.emplace_back();
      for (const StageStep& stage : record.stages) skipped.back().push_back(stage.skipped);
    };
    const Trained all = train(setup);
    REQUIRE(skipped.size() == 4);
    const auto each = static_cast<std::size_t>(stages);
    for (std::size_t step = 0; step < 4; ++step)
      CHECK(skipped[step] == std::vector<bool>(each, step == bad_step));
    CHECK_FALSE(std::isfinite(all.norms[bad_step]));
    CHECK(std::isfinite(all.losses[3]));
    CHECK(all_finite(all.parameters));

    setup.on_step = [](const StepRecord&) {};
    setup.steps = bad_step;
    const NamedTensors before = train(setup).parameters;
    setup.steps = bad_step + 1;
    const NamedTensors behind = train(setup).parameters;
    CHECK(same_bits(before, behind));
    CHECK_FALSE(same_bits(behind, all.parameters));  // and goes on

    if (stages == 1) one = all;
    CHECK(same_bits(all.parameters, one.parameters));
    CHECK(all.losses[3] == one.losses[3]);
  }
}

TEST_CASE("skip and clipping together", "[nonfinite]") {
  const auto data = poisoned();
  Config config = config_of({.stages = 3}, "skip");
  config.optimizer.max_norm = 0.5;
  const Trained t = train({.model = mlp_model, .config = config, .data = data.get()});
  CHECK(all_finite(t.parameters));
}

TEST_CASE("without skip the run stops at that step and names a parameter", "[nonfinite]") {
  const std::string backend = GENERATE("reference", "cpu");
  const std::string workers = GENERATE("threads", "inline");
  const auto data = poisoned();
  const Graph graph = read_model_text(mlp_model, "test");
  for (const int stages : {1, 3}) {
    INFO(backend << ", " << workers << ", " << stages << " stages");
    StepReporter reporter(graph, {.steps_per_epoch = 4, .steps = 4},
                          std::vector<MemoryAccount>(static_cast<std::size_t>(stages)));
    TrainingSetup setup{
        .model = mlp_model,
        .config = config_of({.stages = stages, .workers = workers, .backend = backend}, "stop"),
        .data = data.get()};
    std::int64_t told = 0;
    setup.on_step = [&](const StepRecord& record) { told = reporter.summarize(record).step; };
    std::string message;
    try {
      train(setup);
    } catch (const DivergedError& error) {
      message = error.what();
    }
    INFO(message);
    CHECK(told == bad_step);  // the steps before were told
    CHECK(message.find("step 3:") != std::string::npos);
    CHECK(message.find("fc1.weight") != std::string::npos);
    CHECK(message.find("on_nonfinite") != std::string::npos);
  }
}

TEST_CASE("the parameter named is the first whose gradient is not finite", "[nonfinite]") {
  const Graph graph = read_model_text(mlp_model, "test");
  StepReporter reporter(graph, {.steps_per_epoch = 4, .steps = 8}, {MemoryAccount{}});
  StepRecord record{.step = 5, .lr = 0.1, .stages = {StageStep{}}, .sums_of_squares = {1, 1, 1}};
  record.stages[0].samples = 16;
  record.stages[0].loss.sum = 8;
  record.sums_of_squares.resize(6, 1);
  CHECK(reporter.summarize(record).loss == 0.5);
  CHECK(reporter.summarize(record).epoch == 2);
  record.sums_of_squares[3] = std::numeric_limits<double>::infinity();
  record.sums_of_squares[5] = std::numeric_limits<double>::quiet_NaN();
  try {
    reporter.summarize(record);
    CHECK(false);
  } catch (const DivergedError& error) {
    CHECK(std::string(error.what()).find("fc2.bias") != std::string::npos);
    CHECK(std::string(error.what()).find("step 6:") != std::string::npos);
  }
  record.stages[0].skipped = true;
  CHECK(reporter.summarize(record).skipped);
}
