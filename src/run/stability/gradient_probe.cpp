#include "run/stability/gradient_probe.hpp"

#include <cmath>
#include <utility>

#include "compile/pipeline_threads.hpp"
#include "graph/graph.hpp"

namespace pipetrain {
namespace {

// An update by plain sgd at this rate moves the weights so far that the result, divided by the
// rate, is the gradient, as exact as f32 is. A power of two, so that the division rounds nothing.
constexpr double kRate = 1 << 20;

Config probing(Config config) {
  const int microbatches = config.pipeline.microbatches;
  config.pipeline = {};
  config.pipeline.microbatches = microbatches;
  config.optimizer = {};
  config.optimizer.lr = kRate;
  config.lr_schedule = {};
  config.training.precision = Precision::F32;
  config.training.on_nonfinite = OnNonfinite::Skip;
  config.hardware.workers = Workers::Inline;
  config.hardware.memory_limit = 0;
  config.hardware.link = {};
  return config;
}

Config with_threads_of(Config probe, const Config& training) {
  const int threads = training.hardware.threads_per_stage;
  if (!is_inline(training))
    probe.hardware.threads_per_stage = threads * worker_count(training.pipeline);
  return probe;
}

}  // namespace

std::vector<TrainedParameter> trained_parameters(const Graph& graph) {
  std::vector<TrainedParameter> all;
  std::size_t end = 0;
  for (LayerId l{0}; l.value < std::ssize(graph.layers); ++l.value)
    for (const Parameter& parameter : graph.layers[l].parameters) {
      if (!parameter.trained || parameter.tied || parameter.lr_factor == 0) continue;
      const std::size_t begin = end;
      end += static_cast<std::size_t>(parameter.shape.elements());
      all.push_back({parameter.name, {}, l, begin, end, parameter.lr_factor});
    }
  for (const Layer& layer : graph.layers)
    for (const Parameter& parameter : layer.parameters)
      if (parameter.tied)
        for (TrainedParameter& owner : all)
          if (owner.name == graph.owner(parameter).name) owner.others.push_back(parameter.name);
  return all;
}

GradientProbe::GradientProbe(const GradientProbeInput& input, NamedTensors parameters,
                             std::int64_t step)
    : in_(input),
      config_(with_threads_of(probing(input.config), input.config)),
      plan_(plan_from_cuts(input.graph, {0})),
      values_(std::move(parameters)),
      step_(step),
      parameters_(trained_parameters(input.graph)),
      pipeline_(PipelineInput{.graph = input.graph,
                              .plan = plan_,
                              .config = config_,
                              .backend = input.backend,
                              .sizes = {.train = input.sizes.train, .validation = {}},
                              .steps_per_epoch = input.steps_per_epoch}) {}

std::size_t GradientProbe::size() const { return parameters_.empty() ? 0 : parameters_.back().end; }

double GradientProbe::weights_length() const {
  double sum = 0;
  for (const TrainedParameter& parameter : parameters_)
    for (const float value : floats(values_, parameter.name))
      sum += static_cast<double>(value) * value;
  return std::sqrt(sum);
}

NamedTensors GradientProbe::moved_tensors(const std::vector<double>& moved) const {
  NamedTensors tensors = values_;
  for (const TrainedParameter& parameter : parameters_) {
    std::vector<float>& values = floats(tensors, parameter.name);
    for (std::size_t i = 0; i < values.size(); ++i)
      values[i] = static_cast<float>(values[i] + moved[parameter.begin + i]);
    for (const std::string& other : parameter.others) floats(tensors, other) = values;
  }
  return tensors;
}

std::optional<std::vector<float>> GradientProbe::gradient_at(const std::vector<double>& moved) {
  const NamedTensors before = moved_tensors(moved);
  pipeline_.set_parameters(before);
  Loader loader(in_.train, loader_options(pipeline_, config_, Mode::Train, step_),
                pipeline_.loader_readers(Mode::Train));
  bool finite = true;
  pipeline_.train(loader, step_, 1,
                  [&](const StepRecord& record) { finite = !record.stages[0].skipped; });
  if (!finite) return std::nullopt;
  const NamedTensors after = pipeline_.parameters();
  std::vector<float> gradient(size());
  for (const TrainedParameter& parameter : parameters_) {
    const std::vector<float>&from = floats(before, parameter.name),
          &to = floats(after, parameter.name);
    for (std::size_t i = 0; i < from.size(); ++i)
      gradient[parameter.begin + i] = static_cast<float>((static_cast<double>(from[i]) - to[i]) /
                                                         (kRate * parameter.lr_factor));
  }
  return gradient;
}

}  // namespace pipetrain
