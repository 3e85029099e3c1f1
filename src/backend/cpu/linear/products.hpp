// How a layer's products are done in bf16 precision: by instructions that multiply bf16, or in f32.
// Values are stored as bf16 either way.
#pragma once

namespace pipetrain::cpu {

enum class Products { F32, Bf16 };

// Does oneDNN have kernels here that multiply bf16, natively or by emulation?
bool can_multiply_bf16();
// The faster kind on this machine.
Products products_here();

}  // namespace pipetrain::cpu
