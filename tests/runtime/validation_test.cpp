// Validation between two segments of training: what it takes, and that it leaves no trace.
#include <numeric>

#include "catch.hpp"
#include "data/formats.hpp"
#include "graph/graph.hpp"
#include "graph/read.hpp"
#include "run/session.hpp"
#include "training.hpp"

using namespace pipetrain;
using namespace pipetrain::testing;

namespace {

struct Between {
  NamedTensors parameters;
  std::vector<HeldMemory> memory;
};

// Six steps in two segments; with `validates` an evaluation before, between and after them.
Between train_in_two(const Config& config, bool validates) {
  const Graph graph = read_model_text(residual_model, "test");
  const auto data = draw_synthetic({.samples = 64, .seed = 3, .part = "train"}, graph);
  const Plan plan = make_plan(graph, config, {});
  const auto backend = make_backend(config.hardware.backend);
  PipelineInput input{graph, plan, config, *backend, 6};
  input.sizes.train = data->order(training_order(config))->sizes();
  if (validates) input.sizes.validation = data->order(evaluation_order(config))->sizes();
  Pipeline pipeline(input);
  pipeline.set_parameters(first_parameters(config, graph));
  Loader loader(*data,
                {.order = training_order(config),
                 .depth = pipeline.loader_depth(Mode::Train),
                 .reader_threads = pipeline.reader_threads(Mode::Train)},
                pipeline.loader_readers(Mode::Train));
  for (const int first : {0, 3}) {
    if (validates) evaluate(pipeline, *data, config);
    pipeline.train(loader, first, 3, [](const StepRecord&) {});
  }
  if (validates) evaluate(pipeline, *data, config);
  return {pipeline.parameters(), pipeline.memory()};
}

int depth_for(Mode mode, int stages, std::int64_t told) {
  Config config = make_config({.stages = stages, .microbatches = 4});
  config.validation.batch_size = told;
  const Graph graph = read_model_text(residual_model, "test");
  const auto data = draw_synthetic({.samples = 64, .seed = 3, .part = "train"}, graph);
  const Plan plan = make_plan(graph, config, {});
  const auto backend = make_backend(config.hardware.backend);
  PipelineInput input{graph, plan, config, *backend, 6};
  input.sizes.train = data->order(training_order(config))->sizes();
  input.sizes.validation = data->order(evaluation_order(config))->sizes();
  return Pipeline(input).loader_depth(mode);
}

std::size_t sum(const std::vector<HeldMemory>& stages, MemoryAccount HeldMemory::*which) {
  return std::accumulate(
      stages.begin(), stages.end(), std::size_t{0},
      [&](std::size_t s, const HeldMemory& h) { return s + (h.*which).total(); });
}

}  // namespace

TEST_CASE("validation between segments changes no bit of the training", "[validation]") {
  const std::string schedule = GENERATE("gpipe", "1f1b", "zb_v", "interleaved_1f1b", "chimera",
                                        "data_parallel", "pipedream", "timeprest");
  const std::int64_t told = GENERATE(0, 24);  // training's micro-batches, and larger ones
  const std::string backend = GENERATE("cpu", "reference");
  Config config =
      make_config({.stages = 2, .microbatches = 4, .schedule = schedule, .backend = backend});
  config.validation.batch_size = told;
  if (schedule == "interleaved_1f1b") config.pipeline.virtual_stages = 2;
  INFO(schedule << ", " << backend << ", " << told << " samples at once");
  const Between without = train_in_two(config, false), with = train_in_two(config, true);
  CHECK(same_bits(without.parameters, with.parameters));
  CHECK(sum(without.memory, &HeldMemory::training) == sum(with.memory, &HeldMemory::training));
  CHECK(sum(without.memory, &HeldMemory::validation) == 0);
  CHECK(sum(with.memory, &HeldMemory::validation) > 0);
}

TEST_CASE("the loader holds every mini-batch that validation has in flight", "[validation]") {
  for (const int stages : {1, 2, 8}) {
    const int in_flight = evaluation_packets * (stages - 1) + 1;
    INFO(stages << " stages");
    CHECK(depth_for(Mode::Evaluate, stages, 24) > in_flight);  // each is one micro-batch
    CHECK(4 * (depth_for(Mode::Evaluate, stages, 0) - 1) > in_flight);
    CHECK(depth_for(Mode::Train, stages, 24) == depth_for(Mode::Train, stages, 0));
  }
  CHECK(depth_for(Mode::Evaluate, 8, 0) < depth_for(Mode::Evaluate, 8, 24));
}

TEST_CASE("by default validation needs no more memory than training", "[validation][memory]") {
  for (const std::string schedule : {"gpipe", "1f1b"}) {
    Config config = make_config({.stages = 4, .microbatches = 8, .schedule = schedule});
    config.validation.batch_size = 0;
    for (const HeldMemory& stage : train_in_two(config, true).memory) {
      CHECK(stage.validation.total() <= stage.training.total());
      CHECK(stage.most() == stage.training.total());
    }
    config.validation.batch_size = 64;
    std::size_t larger = 0;
    for (const HeldMemory& stage : train_in_two(config, true).memory)
      larger += stage.most() > stage.training.total() ? 1 : 0;
    CHECK(larger > 0);
  }
}
