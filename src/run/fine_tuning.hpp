// Training a part of a model: which parameters are trained (model.trainable), how fast
// (optimizer.lr_names, lr_factors), and which do not begin with the values of a file
// (model.init_ignore). All by patterns of PyTorch's names, as a shell's: "fc.*", "layer4.?.conv*".
#pragma once

#include <string>
#include <vector>

#include "checkpoint/parameters.hpp"
#include "config/config.hpp"

namespace pipetrain {

struct Graph;

// Marks the parameters of the graph. UsageError where a pattern matches none (with the nearest
// name), or where nothing is left to train.
void choose_trained(const Config& config, Graph& graph);

// The parameters that are trained, for a line of the console; empty where all are.
std::string trained_text(const Graph& graph);

// model.init's values, and for the names that model.init_ignore matches those that training begins
// with otherwise, whatever the file has under them. `ignored` gets those names.
NamedTensors fine_tuned_parameters(const Config& config, const Graph& graph,
                                   std::vector<std::string>& ignored);

}  // namespace pipetrain
