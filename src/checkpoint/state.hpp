// The tensors of a training: the weights, and the optimizer's state for each parameter. Names are
// those of the model and say nothing about stages: a state loads under any split.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "checkpoint/parameters.hpp"
#include "config/config.hpp"

namespace pipetrain {

struct Graph;

// What the update rule keeps per parameter, under PyTorch's names: "momentum_buffer"; "exp_avg",
// "exp_avg_sq".
std::vector<std::string_view> moment_names(const OptimizerConfig& optimizer);

// "conv1.weight/exp_avg"; layer names never contain a slash.
std::string moment_name(const std::string& parameter, std::string_view moment);

// Does training keep the mean motion of the weights (PipeMare, section 3.2)? It is stored as a
// moment of this name, and is zero if a stage needs none.
bool keeps_delta(const PipelineConfig& pipeline);
inline constexpr std::string_view delta_name = "delta";

// Names, shapes and types of all tensors of a training; the values are empty. A tensor that several
// layers use appears once, under its owner's name, except for delta, which depends on the layer's
// stage.
NamedTensors expected_state(const Graph& graph, const Config& config);

struct StageTensors {               // of consecutive layers
  std::vector<std::string> layers;  // their names
  NamedTensors tensors;
};

}  // namespace pipetrain
