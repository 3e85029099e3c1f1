// Convolutions of 3 x 3 by Winograd F(2x2, 3x3) (WinogradLoop): four ninths of the products that
// the library's kernels make, so faster than the processor's peak at those. Sums of other products
// than a direct convolution's, with about its rounding error: the transforms only add, subtract and
// halve.
#pragma once

#include "backend/cpu/kernel.hpp"
#include "graph/layer_spec.hpp"

namespace pipetrain::cpu {

// In f32, with AVX-512, where it pays (suits_winograd.hpp). The same for any number of
// samples.
bool has_winograd(const Conv2d& spec, const Problem& problem);

// Reads weights as points: packed copies in both passes.
std::size_t winograd_packed_bytes(const Conv2d& spec, const Problem& problem);
void winograd_pack(const Conv2d& spec, const Problem& problem, Pass pass, const float* weights,
                   float* packed);
std::unique_ptr<Kernel> make_winograd(const Conv2d& spec, Problem problem);

}  // namespace pipetrain::cpu
