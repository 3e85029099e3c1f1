// Training part of a model: which parameters are trained (model.trainable), how fast
// (optimizer.lr_names, lr_factors), and which do not start with a file's values
// (model.init_ignore). All are given as shell patterns over PyTorch's names: "fc.*",
// "layer4.?.conv*".
#pragma once

#include <string>
#include <vector>

#include "checkpoint/parameters.hpp"
#include "config/config.hpp"

namespace pipetrain {

struct Graph;

// Marks the graph's trained parameters. UsageError if a pattern matches none (with the nearest
// name), or only other names of tied parameters (with their owner's).
void choose_trained(const Config& config, Graph& graph);

// The trained parameters, as a line for the console; empty if all are trained.
std::string trained_text(const Graph& graph);

// The values of model.init (a file, a checkpoint or a run), except for names that model.init_ignore
// matches: these get the values with which training would otherwise start, whatever the file has
// for them. `ignored` receives those names.
NamedTensors fine_tuned_parameters(const Config& config, const Graph& graph,
                                   std::vector<std::string>& ignored);

}  // namespace pipetrain
