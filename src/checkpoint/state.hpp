// The tensors of a training: the weights, and what the optimizer remembers of each parameter. All
// names are the model's, none says on which stage it was: a state loads under any split.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "checkpoint/parameters.hpp"
#include "config/config.hpp"

namespace pipetrain {

struct Graph;

// What the update rule keeps per parameter, by PyTorch's names: "momentum_buffer"; "exp_avg",
// "exp_avg_sq".
std::vector<std::string_view> moment_names(const OptimizerConfig& optimizer);

// "conv1.weight/exp_avg": no layer has a slash in its name.
std::string moment_name(const std::string& parameter, std::string_view moment);

// Does training keep the mean motion of the weights (PipeMare, section 3.2)? It is stored as a
// moment of this name; zero where a stage needs none.
bool keeps_delta(const PipelineConfig& pipeline);
inline constexpr std::string_view delta_name = "delta";

// Names, shapes and types of a whole training's tensors; the values are empty. What several layers
// use is there once, under its owner's name; but for delta, which depends on the layer's stage.
NamedTensors expected_state(const Graph& graph, const Config& config);

struct StageTensors {               // of some consecutive layers
  std::vector<std::string> layers;  // their names
  NamedTensors tensors;
};

}  // namespace pipetrain
