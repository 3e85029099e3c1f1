#include "checkpoint/state.hpp"

namespace pipetrain {

std::vector<std::string_view> moment_names(const OptimizerConfig& optimizer) {
  if (optimizer.kind != "sgd") return {"exp_avg", "exp_avg_sq"};
  if (optimizer.momentum != 0) return {"momentum_buffer"};
  return {};
}

std::string moment_name(const std::string& parameter, std::string_view moment) {
  return parameter + "/" + std::string(moment);
}

bool keeps_delta(const PipelineConfig& pipeline) {
  if (pipeline.schedule == "pipemare") return pipeline.pipemare.decay > 0;
  return pipeline.schedule == "i_timeprest" && !pipeline.i_timeprest.stash &&
         pipeline.i_timeprest.decay > 0;
}

NamedTensors expected_state(const Graph& graph, const Config& config) {
  NamedTensors tensors = expected_parameters(graph);
  auto moments = moment_names(config.optimizer);
  if (keeps_delta(config.pipeline)) moments.push_back(delta_name);
  for (const Layer& layer : graph.layers)
    for (const Parameter& parameter : layer.parameters)
      for (const std::string_view moment : moments)
        tensors[moment_name(parameter.name, moment)] = {parameter.shape, std::vector<float>{}};
  return tensors;
}

}  // namespace pipetrain
