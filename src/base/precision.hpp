// How activations and their gradients are stored. Parameters, their gradients, optimizers,
// statistics and losses are f32 either way.
#pragma once

namespace pipetrain {

enum class Precision { F32, Bf16 };

}  // namespace pipetrain
