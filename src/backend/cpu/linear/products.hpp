// How the products of a bf16 layer are done: by instructions that multiply bf16, or in f32, between
// values that are stored as bf16 with either.
#pragma once

namespace pipetrain::cpu {

enum class Products { F32, Bf16 };

// oneDNN has kernels here that multiply bf16, or imitate the instructions.
bool can_multiply_bf16();
// What is faster on this machine.
Products products_here();

}  // namespace pipetrain::cpu
