// A gradient that is not finite: the run stops and says where it began, or leaves that update out.
#include <cmath>
#include <limits>

#include "altered_data.hpp"
#include "backends.hpp"
#include "base/error.hpp"
#include "catch.hpp"
#include "data/formats.hpp"
#include "graph/graph.hpp"
#include "graph/read.hpp"
#include "run/divergence.hpp"
#include "run/report.hpp"
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
  config.training.on_nonfinite = word_named<OnNonfinite>(on_nonfinite).value();
  return config;
}

bool all_finite(const NamedTensors& tensors) {
  for (const auto& [name, tensor] : tensors)
    for (const float x : std::get<std::vector<float>>(tensor.values))
      if (!std::isfinite(x)) return false;
  return true;
}

}  // namespace

TEST_CASE("skip leaves one update out, at any number of stages", "[nonfinite][backends]") {
  const std::string backend = GENERATE(from_range(backend_names()));
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
    CHECK_FALSE(same_bits(behind, all.parameters));  // training continues after it

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

TEST_CASE("without skip the run stops: step, parameter, layer, stage, sample",
          "[nonfinite][backends]") {
  const std::string backend = GENERATE(from_range(backend_names()));
  const std::string workers = GENERATE("threads", "inline");
  const auto data = poisoned();
  const Graph graph = read_model_text(mlp_model, "test");
  for (const int stages : {1, 3}) {
    INFO(backend << ", " << workers << ", " << stages << " stages");
    StepReporter reporter({.steps_per_epoch = 4, .steps = 4},
                          std::vector<HeldMemory>(static_cast<std::size_t>(stages)), stages);
    TrainingSetup setup{
        .model = mlp_model,
        .config = config_of({.stages = stages, .workers = workers, .backend = backend}, "stop"),
        .data = data.get()};
    const Plan plan = make_plan(graph, setup.config, {});
    std::int64_t told = 0;
    setup.on_step = [&](const StepRecord& record) {
      const StepSummary summary = reporter.summarize(record);
      check_divergence({setup.config, graph, plan, *data}, record, summary);
      told = summary.step;
    };
    std::string message;
    try {
      train(setup);
    } catch (const DivergedError& error) {
      message = error.what();
    }
    INFO(message);
    CHECK(told == bad_step);  // the steps before were reported
    CHECK(message.find("step 3:") != std::string::npos);
    CHECK(message.find("fc1.weight, layer \"fc1\" on stage 0") != std::string::npos);
    CHECK(message.find("1 of the mini-batch's samples") != std::string::npos);
    CHECK(message.find("training sample 35") != std::string::npos);
    CHECK(message.find("on_nonfinite") != std::string::npos);
  }
}

TEST_CASE("the layer named is the first whose gradient is not finite", "[nonfinite]") {
  const Graph graph = read_model_text(mlp_model, "test");
  Config config = config_of({.stages = 6}, "stop");
  const Plan plan = make_plan(graph, config, {});
  const auto data = draw_synthetic({.samples = 128, .seed = 3, .part = "train"}, graph);
  const TrainingParts parts{config, graph, plan, *data};
  StepReporter reporter({.steps_per_epoch = 4, .steps = 8}, std::vector<HeldMemory>(6), 6);
  StepRecord record{.step = 5, .lr = 0.1, .stages = {}, .sums_of_squares = {1, 1, 1, 1, 1, 1}};
  record.stages.resize(6);
  record.stages.back().samples = 16;
  record.stages.back().labels = 16;
  record.stages.back().loss.sum = 8;
  const auto message = [&]() -> std::string {
    try {
      check_divergence(parts, record, reporter.summarize(record));
    } catch (const DivergedError& error) {
      return error.what();
    }
    return "";
  };
  CHECK(reporter.summarize(record).loss == 0.5);
  CHECK(reporter.summarize(record).epoch == 2);
  CHECK(message().empty());
  record.stages.back().loss.sum = std::numeric_limits<double>::infinity();
  CHECK(message().find("only the loss is not") != std::string::npos);
  CHECK(message().find("on stage 5") != std::string::npos);
  record.sums_of_squares[3] = std::numeric_limits<double>::infinity();
  record.sums_of_squares[5] = std::numeric_limits<double>::quiet_NaN();
  CHECK(message().find("fc2.bias, layer \"fc2\" on stage 2") != std::string::npos);
  CHECK(message().find("step 6:") != std::string::npos);
  CHECK(message().find("of the mini-batch's samples") == std::string::npos);  // the data are finite
  config.training.on_nonfinite = OnNonfinite::Skip;
  CHECK(message().empty());
}
