// What activations and their gradients are stored as. Parameters, their gradients, optimizers,
// statistics and losses are f32 with both.
#pragma once

namespace pipetrain {

enum class Precision { F32, Bf16 };

}  // namespace pipetrain
