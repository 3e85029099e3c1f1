// A stage's tensors by their global names, in PyTorch's layouts: out of it and into it, between
// segments only.
#pragma once

#include "checkpoint/state.hpp"
#include "runtime/stage.hpp"

namespace pipetrain {

// Weights, buffers and num_batches_tracked. `tensors` may hold those of other stages too.
void take_parameters(Stage& stage, NamedTensors& tensors);
void put_parameters(Stage& stage, const NamedTensors& tensors);

// What the update rule remembers of each parameter.
void take_moments(const Stage& stage, const OptimizerConfig& optimizer, NamedTensors& tensors);
void put_moments(Stage& stage, const OptimizerConfig& optimizer, const NamedTensors& tensors);

// The mean motion of the weights, where training keeps it (checkpoint/state.hpp).
void take_delta(const Stage& stage, NamedTensors& tensors);
void put_delta(Stage& stage, const NamedTensors& tensors);

}  // namespace pipetrain
