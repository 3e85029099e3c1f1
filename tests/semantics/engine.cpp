// A chain of one-weight linear layers, trained by the engine as a scalar task says.
#include "semantics/engine.hpp"

#include <random>
#include <utility>

#include "compile/segment_program.hpp"
#include "data/dataset.hpp"
#include "graph/graph.hpp"
#include "graph/read.hpp"
#include "order_csv.hpp"
#include "run/session.hpp"

namespace pipetrain::test {
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

std::string layer_name(int s) { return fmt::format("w{}", s); }

// "tied = ..." if the stage uses another stage's weight.
std::string tie_of(const ScalarTask& task, int s) {
  const int owner = task.tied.empty() ? s : task.tied[static_cast<std::size_t>(s)];
  return owner == s ? "" : fmt::format("tied = \"{}\"\n", layer_name(owner));
}

Graph chain(const ScalarTask& task) {
  std::string toml = "name = \"chain\"\nloss = \"mse\"\ninput = { shape = [1] }\n";
  for (int s = 0; s < std::ssize(task.weights); ++s)
    toml += fmt::format(
        "[[layers]]\nname = \"{}\"\nkind = \"linear\"\nout_features = 1\n"
        "bias = false\n{}",
        layer_name(s), tie_of(task, s));
  return read_model_text(toml, "chain");
}

}  // namespace

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

namespace {

// Trains all mini-batches of the task; `program`, if there is one, in place of the config's own.
std::vector<double> trained(Config config, const ScalarTask& task, const Choice& choice,
                            const Program* program) {
  const Graph graph = chain(task);
  const int stages = static_cast<int>(task.weights.size());
  const std::int64_t minibatches = std::ssize(task.inputs) / config.pipeline.microbatches;
  config.data.batch_size = config.pipeline.microbatches;
  config.pipeline.stages = stages;
  config.pipeline.split.rule = SplitRule::Uniform;
  config.optimizer.lr = task.lr / 2;
  config.hardware.backend = choice.backend;
  config.hardware.workers = word_named<Workers>(choice.workers).value();
  const Plan plan = make_plan(graph, config, {});
  const auto backend = make_backend(choice.backend);
  PipelineInput input{graph, plan, config, *backend, minibatches};
  input.sizes.train = {{config.data.batch_size, {}}};
  input.program = program;

  Pipeline pipeline(input);
  NamedTensors weights = initial_parameters(graph, 1);
  for (int s = 0; s < stages; ++s)
    floats(weights, layer_name(s) + ".weight")[0] =
        static_cast<float>(task.weights[static_cast<std::size_t>(s)]);
  pipeline.set_parameters(weights);
  const Points points(task);
  Loader loader(points,
                {.order = {.batch_size = config.data.batch_size, .shuffle = false},
                 .depth = pipeline.loader_depth(Mode::Train),
                 .reader_threads = pipeline.reader_threads(Mode::Train)},
                pipeline.loader_readers(Mode::Train));
  const std::int64_t warmup = warmup_steps(config, input.steps_per_epoch);
  if (warmup > 0) pipeline.train(loader, 0, warmup, [](const StepRecord&) {});
  pipeline.train(loader, warmup, minibatches - warmup, [](const StepRecord&) {});
  weights = pipeline.parameters();
  std::vector<double> result;
  for (int s = 0; s < stages; ++s) result.push_back(floats(weights, layer_name(s) + ".weight")[0]);
  return result;
}

}  // namespace

std::vector<double> train_on_engine(const Program& program, const ScalarTask& task,
                                    const Choice& choice) {
  Config config;
  config.pipeline.microbatches = program.microbatches;
  return trained(config, task, choice, &program);
}

std::vector<double> train_on_engine(Config config, const ScalarTask& task, const Choice& choice) {
  return trained(std::move(config), task, choice, nullptr);
}

}  // namespace pipetrain::test
