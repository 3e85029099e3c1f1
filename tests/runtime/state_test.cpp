// A training that is drained, taken apart into its state and put together again elsewhere resumes
// to the same bits as one that was left alone.
#include "catch.hpp"
#include "data/formats.hpp"
#include "graph/graph.hpp"
#include "graph/read.hpp"
#include "training.hpp"

using namespace pipetrain;
using namespace pipetrain::testing;

namespace {

constexpr std::int64_t kSteps = 160;  // workers may be 64 steps ahead of the reporter

struct Machine {  // a config with all that trains it
  explicit Machine(const Config& c)
      : config(c),
        graph(read_model_text(residual_model, "test")),
        plan(make_plan(graph, config, {})),
        backend(make_backend(config.hardware.backend)),
        data(draw_synthetic({.samples = 64, .seed = 3, .part = "train"}, graph)),
        pipeline({graph,
                  plan,
                  config,
                  *backend,
                  kSteps,
                  {.train = data->order({.batch_size = config.data.batch_size})->sizes(),
                   .validation = {}}}) {}

  // Trains from `first` up to kSteps, or until `drain_at` steps were reported. Returns how far it
  // came.
  std::int64_t train(std::int64_t first, std::int64_t drain_at) {
    Loader loader(*data,
                  {.order = {.batch_size = config.data.batch_size},
                   .first_step = first,
                   .depth = pipeline.loader_depth(Mode::Train),
                   .reader_threads = pipeline.reader_threads(Mode::Train)},
                  pipeline.loader_readers(Mode::Train));
    std::atomic<bool> drain = false;
    std::int64_t reported = first;
    const std::int64_t trained = pipeline.train(
        loader, first, kSteps - first,
        [&](const StepRecord& record) {
          CHECK(record.step == reported);
          if (++reported >= drain_at) drain = true;
        },
        &drain);
    CHECK(first + trained == reported);
    return reported;
  }

  NamedTensors state() const {
    NamedTensors all;
    for (const StageTensors& stage : pipeline.state())
      all.insert(stage.tensors.begin(), stage.tensors.end());
    return all;
  }

  const Config config;
  const Graph graph;
  const Plan plan;
  const std::unique_ptr<Backend> backend;
  const std::unique_ptr<const Dataset> data;
  Pipeline pipeline;
};

Config choice(const std::string& optimizer, int stages, const std::string& workers) {
  Config config = make_config({.stages = stages, .workers = workers, .backend = "cpu"});
  config.optimizer.kind = word_named<OptimizerKind>(optimizer).value();
  config.optimizer.lr = 0.01;
  return config;
}

}  // namespace

TEST_CASE("a drained training resumes under another layout to the same bits", "[state]") {
  const std::string optimizer = GENERATE("sgd", "adam");
  const std::string workers = GENERATE("threads", "inline");
  Machine whole(choice(optimizer, 2, "threads"));
  whole.pipeline.set_parameters(first_parameters(whole.config, whole.graph));
  CHECK(whole.train(0, kSteps + 1) == kSteps);

  std::int64_t step = 0;
  NamedTensors state;
  int parts = 0;
  for (int stages = 1; step < kSteps; stages = stages % 4 + 1, ++parts) {
    Machine part(choice(optimizer, stages, workers));
    if (step == 0)
      part.pipeline.set_parameters(first_parameters(part.config, part.graph));
    else
      part.pipeline.set_state(state);
    const std::int64_t before = step;
    step = part.train(step, step + 2);
    CHECK(step >= std::min(before + 2, kSteps));
    state = part.state();
  }
  CHECK(parts > 1);
  CHECK(same_bits(state, whole.state()));
  const bool adam = optimizer == "adam";
  CHECK(state.contains(adam ? "conv1.weight/exp_avg_sq" : "conv1.weight/momentum_buffer"));
}

TEST_CASE("copies of stages resume from the first one's state to the same bits", "[state]") {
  const auto machine_of = [](const std::string& schedule, int workers) {
    Config config = choice("adam", workers, "threads");
    config.pipeline.schedule = schedule;
    return config;
  };
  Machine whole(machine_of("chimera", 4));
  whole.pipeline.set_parameters(first_parameters(whole.config, whole.graph));
  CHECK(whole.train(0, kSteps + 1) == kSteps);

  // Even micro-batches on one copy, odd ones on the other: so do two workers of data_parallel.
  Machine begin(machine_of("data_parallel", 2));
  begin.pipeline.set_parameters(first_parameters(begin.config, begin.graph));
  const std::int64_t step = begin.train(0, 2);
  CHECK(step < kSteps);
  Machine rest(machine_of("chimera", 2));
  rest.pipeline.set_state(begin.state());
  CHECK(rest.train(step, kSteps + 1) == kSteps);
  CHECK(same_bits(rest.state(), whole.state()));
}
