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

NamedTensors expected_state(const Graph& graph, const OptimizerConfig& optimizer) {
  NamedTensors tensors = expected_parameters(graph);
  for (const Layer& layer : graph.layers)
    for (const Parameter& parameter : layer.parameters)
      for (const std::string_view moment : moment_names(optimizer))
        tensors[moment_name(parameter.name, moment)] = {parameter.shape, std::vector<float>{}};
  return tensors;
}

}  // namespace pipetrain
