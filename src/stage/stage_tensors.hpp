// A stage's tensors by global name, in PyTorch's layouts: read and written between segments only.
#pragma once

#include "checkpoint/state.hpp"
#include "stage/stage.hpp"

namespace pipetrain {

// Weights, buffers and num_batches_tracked. `tensors` may also hold those of other stages. A
// parameter of several layers is taken under each use's name or only under its owner's, and put
// under its owner's.
enum class Tied { EachUse, Owner };
void take_parameters(Stage& stage, NamedTensors& tensors, Tied tied);
void put_parameters(Stage& stage, const NamedTensors& tensors);

// What the update rule remembers about each parameter, by its owner's name.
void take_moments(const Stage& stage, const OptimizerConfig& optimizer, NamedTensors& tensors);
void put_moments(Stage& stage, const OptimizerConfig& optimizer, const NamedTensors& tensors);

// Delta, the mean motion of the weights: of each use under its own name, if training keeps it
// (checkpoint/state.hpp).
void take_delta(const Stage& stage, NamedTensors& tensors);
void put_delta(Stage& stage, const NamedTensors& tensors);

}  // namespace pipetrain
