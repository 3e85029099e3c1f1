// The real engine against the scalar trainer on the same programs: asynchronous ones with a
// stash of weights too. A stage is one linear layer of
// one weight, the loss mse: twice the scalar trainer's, so that half its rate gives the same
// updates.
#include <random>

#include "app/session.hpp"
#include "backends.hpp"
#include "catch.hpp"
#include "data/dataset.hpp"
#include "graph/read.hpp"
#include "order/orders.hpp"
#include "schedules.hpp"
#include "semantics/scalar_trainer.hpp"
#include "versions/versions.hpp"

using namespace pipetrain;
using namespace pipetrain::test;

namespace {

class Points final : public Dataset {
 public:
  explicit Points(const ScalarTask& task) : task_(task) {}
  std::int64_t size() const override { return static_cast<std::int64_t>(task_.inputs.size()); }
  const Shape& input_shape() const override { return one_; }
  int classes() const override { return 0; }
  const Shape& target_shape() const override { return one_; }
  void read(const SampleRequest& which, const Sample& to) const override {
    *to.input = static_cast<float>(task_.inputs[static_cast<std::size_t>(which.index)]);
    *to.values = static_cast<float>(task_.targets[static_cast<std::size_t>(which.index)]);
  }

 private:
  const ScalarTask& task_;
  Shape one_{{1}};
};

ScalarTask random_task(int stages, int microbatches) {
  std::mt19937 random(static_cast<unsigned>(17 * stages + microbatches));
  std::uniform_real_distribution<double> weight(0.6, 1.4), data(-1, 1);
  ScalarTask task;
  for (int s = 0; s < stages; ++s) task.weights.push_back(weight(random));
  for (int m = 0; m < microbatches; ++m) {
    task.inputs.push_back(data(random));
    task.targets.push_back(2 * task.inputs.back());
  }
  return task;
}

std::string layer_name(int s) { return fmt::format("w{}", s); }

Graph chain(int stages) {
  std::string toml = "name = \"chain\"\nloss = \"mse\"\ninput = { shape = [1] }\n";
  for (int s = 0; s < stages; ++s)
    toml += fmt::format(
        "[[layers]]\nname = \"{}\"\nkind = \"linear\"\nout_features = 1\n"
        "bias = false\n",
        layer_name(s));
  return read_model_text(toml, "chain");
}

struct Choice {
  std::string backend, workers;
};

// The engine's weights after the last update.
std::vector<double> train(const Program& program, const ScalarTask& task, const Choice& choice) {
  const int stages = program.stages;
  const Graph graph = chain(stages);
  Config config;
  config.data.batch_size = program.microbatches;
  config.pipeline.stages = stages;
  config.pipeline.microbatches = program.microbatches;
  config.pipeline.split.rule = "uniform";
  config.optimizer.lr = task.lr / 2;
  config.hardware.backend = choice.backend;
  config.hardware.workers = choice.workers;
  config.pipeline.own_order = OwnOrder{program, true};
  const Plan plan = make_plan(graph, config.pipeline);
  const auto backend = make_backend(choice.backend);
  PipelineInput input{graph, plan, config, *backend};
  input.train_samples = program.total_microbatches();

  Pipeline pipeline(input);
  NamedTensors weights = initial_parameters(graph, 1);
  for (int s = 0; s < stages; ++s)
    floats(weights, layer_name(s) + ".weight")[0] =
        static_cast<float>(task.weights[static_cast<std::size_t>(s)]);
  pipeline.set_parameters(weights);
  const Points points(task);
  Loader loader(points,
                {.batch_size = program.microbatches,
                 .shuffle = false,
                 .depth = pipeline.loader_depth(),
                 .reader_threads = pipeline.reader_threads(Mode::Train)},
                pipeline.loader_readers(Mode::Train));
  pipeline.train(loader, 0, program.minibatches, [](const StepRecord&) {});
  weights = pipeline.parameters();
  std::vector<double> result;
  for (int s = 0; s < stages; ++s) result.push_back(floats(weights, layer_name(s) + ".weight")[0]);
  return result;
}

}  // namespace

TEST_CASE("the engine computes what a program says, stashed versions too", "[backends]") {
  const Choice choice{GENERATE(from_range(testing::backend_names())),
                      GENERATE("threads", "inline")};
  const Schedule naive{"naive", "", "", &orders::async_one_f_one_b, &versions::latest, false};
  for (const Schedule* schedule : {&require_schedule("pipedream"), &naive})
    for (const auto& [p, n] : {std::pair{1, 1}, {2, 1}, {4, 1}, {3, 2}, {4, 3}}) {
      const int k = 12;
      const ScalarTask task = random_task(p, n * k);
      const Program program = make_program(
          *schedule, {.schedule = "x", .stages = p, .microbatches = n, .minibatches = k});
      const History expected = ScalarTrainer(program, task).run();
      const std::vector<double> got = train(program, task, choice);
      for (int s = 0; s < p; ++s) {
        CAPTURE(schedule->name, p, n, s, choice.backend, choice.workers);
        CHECK(got[static_cast<std::size_t>(s)] ==
              Approx(expected[static_cast<std::size_t>(s)].back()).epsilon(1e-5));
      }
    }
}
