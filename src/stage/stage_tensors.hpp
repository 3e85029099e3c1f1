// A stage's tensors by their global names, in PyTorch's layouts: out of it and into it, between
// segments only.
#pragma once

#include "checkpoint/state.hpp"
#include "stage/stage.hpp"

namespace pipetrain {

// Weights, buffers and num_batches_tracked. `tensors` may hold those of other stages too. What
// several layers use goes out under each one's name or under its owner's alone, in by its owner's.
enum class Tied { EachUse, Owner };
void take_parameters(Stage& stage, NamedTensors& tensors, Tied tied);
void put_parameters(Stage& stage, const NamedTensors& tensors);

// What the update rule remembers of each parameter, by its owner's name.
void take_moments(const Stage& stage, const OptimizerConfig& optimizer, NamedTensors& tensors);
void put_moments(Stage& stage, const OptimizerConfig& optimizer, const NamedTensors& tensors);

// The mean motion of the weights, of each use by its own name, where training keeps it
// (checkpoint/state.hpp).
void take_delta(const Stage& stage, NamedTensors& tensors);
void put_delta(Stage& stage, const NamedTensors& tensors);

}  // namespace pipetrain
