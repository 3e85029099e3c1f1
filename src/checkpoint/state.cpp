#include "checkpoint/state.hpp"
#include "graph/graph.hpp"

namespace pipetrain {

std::vector<std::string_view> moment_names(const OptimizerConfig& optimizer) {
  switch (moments(optimizer)) {
    case 0:
      return {};
    case 1:
      return {"momentum_buffer"};
    default:
      return {"exp_avg", "exp_avg_sq"};
  }
}

std::string moment_name(const std::string& parameter, std::string_view moment) {
  return parameter + "/" + std::string(moment);
}

bool keeps_delta(const PipelineConfig& pipeline) { return motion_decay(pipeline) > 0; }

NamedTensors expected_state(const Graph& graph, const Config& config) {
  NamedTensors tensors = expected_parameters(graph);
  const auto add = [&](const Parameter& parameter, std::string_view moment) {
    tensors[moment_name(parameter.name, moment)] = {parameter.shape, std::vector<float>{}};
  };
  for (const Layer& layer : graph.layers)
    for (const Parameter& parameter : layer.parameters) {
      if (parameter.tied) tensors.erase(parameter.name);
      if (!parameter.trained) continue;
      if (!parameter.tied)
        for (const std::string_view moment : moment_names(config.optimizer)) add(parameter, moment);
      if (keeps_delta(config.pipeline)) add(parameter, delta_name);
    }
  return tensors;
}

}  // namespace pipetrain
