// How a layer's products are done in bf16 precision: by instructions that multiply bf16, or in f32.
// Values are stored as bf16 either way.
#pragma once

#include <cstdint>

namespace pipetrain::cpu {

struct Problem;

enum class Products : std::uint8_t {
  F32,
  Bf16,   // by vector instructions, in every layer that has them
  Tiles,  // by AMX, in linear layers over rows and in lstms; the others in f32
};

// Does oneDNN have kernels here that multiply bf16, natively or by emulation?
bool can_multiply_bf16();
// Does oneDNN multiply matrices of bf16 in tiles here?
bool has_tiles();
// The fastest kind on this machine.
Products products_here();

// Whether a layer of bf16 values multiplies bf16 by bf16.
bool multiplies_bf16(const Problem& problem, Products products);

}  // namespace pipetrain::cpu
