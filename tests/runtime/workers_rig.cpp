#include "workers_rig.hpp"

#include "data/formats.hpp"
#include "graph/graph.hpp"
#include "graph/read.hpp"
#include "run/session.hpp"
#include "runtime/make_stages.hpp"
#include "stage/stage_tensors.hpp"
#include "training.hpp"

namespace pipetrain::testing {
namespace {

PipelineInput pipeline_input(const Graph& graph, const Plan& plan, const Config& config,
                             Backend& backend, const Dataset& data, std::int64_t steps) {
  PipelineInput input{graph, plan, config, backend, steps};
  input.sizes.train = data.order(training_order(config))->sizes();
  return input;
}

int parameters_of(const Graph& graph) {
  int parameters = 0;
  for (const Layer& layer : graph.layers) parameters += static_cast<int>(layer.parameters.size());
  return parameters;
}

}  // namespace

WorkersRig::WorkersRig(Config config, std::int64_t steps)
    : config_(std::move(config)),
      graph_(read_model_text(mlp_model, "test")),
      plan_(make_plan(graph_, config_, {})),
      backend_(make_backend(config_.hardware.backend)),
      data_(draw_synthetic({.samples = 64, .seed = 3, .part = "train"}, graph_)),
      compiled_(compile_pipeline(pipeline_input(graph_, plan_, config_, *backend_, *data_, steps))),
      program_(compiled_.needs.program.program),
      stages_(make_stages(compiled_)),
      tied_(std::make_unique<TiedParameters>(graph_, stages_)),
      loader_(*data_, {.order = training_order(config_), .depth = 8}, 2),
      board_({.stages = static_cast<int>(stages_.size()),
              .parameters = parameters_of(graph_),
              .end = steps}),
      run_{.what = {.program = program_, .loops = {}},
           .stages = stages_,
           .boundaries = {},
           .loader = &loader_,
           .tied = *tied_,
           .board = &board_,
           .updates = {.learning_rate = {.schedule = {}, .base = 0.05}},
           .workers = {},
           .settle = [](bool) {}} {
  for (std::size_t s = 0; s < stages_.size(); ++s)
    stages_[s]->prepare(compiled_.sizes, std::move(compiled_.parts[s].kernels));
  boundaries_ = make_boundaries({.plan = plan_,
                                 .model = compiled_.model,
                                 .sizes = compiled_.sizes,
                                 .needs = compiled_.needs,
                                 .stages = stages_,
                                 .backend = *backend_,
                                 .make_channel = make_in_process_channel},
                                Mode::Train);
  run_.boundaries = boundaries_;
  const NamedTensors parameters = first_parameters(config_, graph_);
  for (const auto& stage : stages_) put_parameters(stage->first(), parameters);
}

int WorkersRig::run_until_blocked(Worker& worker) {
  int ran = 0;
  for (; !worker.done() && !worker.blocked(); ++ran) worker.step();
  return ran;
}

}  // namespace pipetrain::testing
