#include "training.hpp"

#include "compile/compiled_pipeline.hpp"
#include "data/formats.hpp"
#include "graph/graph.hpp"
#include "graph/read.hpp"
#include "run/fine_tuning.hpp"

namespace pipetrain::testing {

const char* const mlp_model = R"(
name = "mlp"
input = { shape = [12] }
layers = [
  { name = "fc1", kind = "linear", out_features = 16 }, { name = "relu1", kind = "relu" },
  { name = "fc2", kind = "linear", out_features = 16 }, { name = "relu2", kind = "relu" },
  { name = "drop", kind = "dropout", p = 0.25 },
  { name = "fc3", kind = "linear", out_features = 5 },
]
)";

const char* const residual_model = R"(
name = "residual"
input = { shape = [1, 8, 8] }
layers = [
  { name = "conv1", kind = "conv2d", out_channels = 8, kernel = 3, padding = 1, bias = false },
  { name = "bn1", kind = "batch_norm" },
  { name = "relu1", kind = "relu" },
  { name = "conv2", kind = "conv2d", out_channels = 8, kernel = 3, padding = 1 },
  { name = "drop", kind = "dropout", p = 0.2 },
  { name = "bn2", kind = "batch_norm" },
  { name = "sum", kind = "add", inputs = ["bn2", "relu1"] },
  { name = "relu2", kind = "relu" },
  { name = "again", kind = "add", inputs = ["relu2", "conv1"] },
  { name = "pool", kind = "max_pool", kernel = 2 },
  { name = "mean", kind = "global_avg_pool" },
  { name = "flatten", kind = "flatten" },
  { name = "fc", kind = "linear", out_features = 5 },
]
)";

const char* const tied_model = R"(
name = "tied"
input = { shape = [12] }
layers = [
  { name = "in", kind = "linear", out_features = 16 },
  { name = "a", kind = "linear", out_features = 16, bias = false },
  { name = "relu", kind = "relu" },
  { name = "b", kind = "linear", out_features = 16, tied = "a" },
  { name = "c", kind = "linear", out_features = 16, tied = "b", bias = false },
  { name = "out", kind = "linear", out_features = 5 },
]
)";

Config make_config(const ConfigChoice& choice) {
  Config config;
  config.name = "test";
  config.data.kind = DataKind::Synthetic;
  config.data.batch_size = 16;
  config.pipeline.stages = choice.stages;
  config.pipeline.microbatches = choice.microbatches;
  config.pipeline.schedule = choice.schedule;
  config.pipeline.split.rule = SplitRule::Uniform;
  config.optimizer.lr = 0.05;
  config.optimizer.momentum = 0.9;
  config.validation.batch_size = 24;
  config.hardware.backend = choice.backend;
  config.hardware.workers = word_named<Workers>(choice.workers).value();
  return config;
}

Trained train(const TrainingSetup& setup) {
  const Config& config = setup.config;
  Graph graph = read_model_text(setup.model, "test");
  choose_trained(config, graph);
  const auto synthetic =
      draw_synthetic({.samples = setup.samples, .seed = 3, .part = "train"}, graph);
  const Dataset* const data = setup.data ? setup.data : synthetic.get();
  Config planned = config;
  if (setup.program) planned.pipeline.stages = setup.program->stages;
  const Plan plan = make_plan(graph, planned, {});
  const auto backend = setup.make_backend(config.hardware.backend);
  PipelineInput input{graph, plan, config, *backend, setup.steps};
  input.program = setup.program;
  input.sizes.train = data->order(training_order(config))->sizes();
  if (setup.evaluate) input.sizes.validation = data->order(evaluation_order(config))->sizes();
  Trained result;
  CompiledPipeline compiled = compile_pipeline(input);
  result.predicted = predicted_memory(compiled);
  Pipeline pipeline(std::move(compiled), setup.make_channel);
  pipeline.set_parameters(setup.parameters ? *setup.parameters : first_parameters(config, graph));
  std::optional<Trace> trace;
  if (setup.trace_steps) pipeline.set_trace(&trace.emplace(*setup.trace_steps, pipeline.program()));
  setup.on_built();
  result.measured = pipeline.memory();
  if (setup.evaluate) result.before = evaluate(pipeline, *data, config);
  Loader loader(*data,
                {.order = {.batch_size = config.data.batch_size,
                           .shuffle = config.data.shuffle,
                           .drop_last = config.data.drop_last},
                 .depth = pipeline.loader_depth(Mode::Train),
                 .reader_threads = pipeline.reader_threads(Mode::Train)},
                pipeline.loader_readers(Mode::Train));
  pipeline.train(loader, 0, setup.steps, [&](const StepRecord& record) {
    result.losses.push_back(record.stages.back().loss.sum / record.stages.back().samples);
    result.norms.push_back(record.squared_norm());
    setup.on_step(record);
  });
  if (setup.evaluate) result.after = evaluate(pipeline, *data, config);
  if (trace) setup.on_traced(*trace);
  result.parameters = pipeline.parameters();
  return result;
}

bool same_bits(const NamedTensors& a, const NamedTensors& b) {
  if (a.size() != b.size()) return false;
  for (const auto& [name, tensor] : a)
    if (!b.contains(name) || b.at(name).values != tensor.values) return false;
  return true;
}

}  // namespace pipetrain::testing
