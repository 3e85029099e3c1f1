// A pipeline whose cut moves between two segments trains to the bits of one whose cut stays.
#include <memory>

#include "catch.hpp"
#include "data/formats.hpp"
#include "graph/graph.hpp"
#include "graph/read.hpp"
#include "runtime/training.hpp"

using namespace pipetrain;
using namespace pipetrain::testing;

namespace {

constexpr int steps = 6;

struct Cut {
  int after = 0;
  std::vector<int> firsts;
};

NamedTensors trained(const Config& config, const std::string& model, const std::vector<Cut>& cuts) {
  const Graph graph = read_model_text(model, "test");
  const auto data = draw_synthetic({.samples = 64, .seed = 3, .part = "train"}, graph);
  const auto backend = make_backend(config.hardware.backend);
  const Plan plan = make_plan(graph, config, {});
  PipelineInput input{graph, plan, config, *backend, steps};
  input.sizes.train = data->order(training_order(config))->sizes();
  Pipeline pipeline(input);
  pipeline.set_parameters(first_parameters(config, graph));
  Loader loader(*data,
                {.order = training_order(config),
                 .depth = pipeline.loader_depth(Mode::Train),
                 .reader_threads = pipeline.reader_threads(Mode::Train)},
                pipeline.loader_readers(Mode::Train));
  std::int64_t done = 0;
  const auto train_until = [&](std::int64_t end) {
    pipeline.train(loader, done, end - done, [](const StepRecord&) {});
    done = end;
  };
  for (const Cut& cut : cuts) {
    train_until(cut.after);
    auto moved = std::make_unique<const Plan>(plan_from_cuts(graph, cut.firsts));
    PipelineInput next{graph, *moved, config, *backend, steps};
    next.sizes = input.sizes;
    CompiledPipeline compiled = compile_pipeline(next);
    pipeline.recut(std::move(moved), std::move(compiled));
    CHECK(pipeline.input().plan.stages[StageId{1}].first.value == cut.firsts[1]);
  }
  train_until(steps);
  return pipeline.parameters();
}

}  // namespace

TEST_CASE("a cut that moves changes no bit", "[recut]") {
  for (const std::string schedule : {"gpipe", "1f1b", "zb_h1"})
    for (const char* const model : {residual_model, tied_model}) {
      INFO(schedule << "\n" << model);
      Config config =
          make_config({.stages = 2, .microbatches = 4, .schedule = schedule, .backend = "cpu"});
      config.optimizer.kind = OptimizerKind::Adam;
      const NamedTensors stays = trained(config, model, {});
      CHECK(same_bits(trained(config, model, {{2, {0, 1}}, {4, {0, 4}}}), stays));
    }
}
