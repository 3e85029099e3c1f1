// 3 x 3 convolutions by Winograd F(2x2, 3x3) (WinogradLoop): four ninths of the multiplications of
// the library's kernels, so it can exceed the peak that the processor reaches with those. It sums
// other products than a direct convolution, with about the same rounding error: the transforms only
// add, subtract and halve.
#pragma once

#include "backend/cpu/kernel.hpp"
#include "graph/layer_spec.hpp"

namespace pipetrain::cpu {

// In f32, with AVX-512, where it pays (suits_winograd.hpp). The answer does not depend on the
// number of samples.
bool has_winograd(const Conv2d& spec, const Problem& problem);

// Both directions read the weights as points, from packed copies.
std::size_t winograd_packed_bytes(const Conv2d& spec, const Problem& problem);
void winograd_pack(const Conv2d& spec, const Problem& problem, Pass pass, const float* weights,
                   float* packed);
std::unique_ptr<Kernel> make_winograd(const Conv2d& spec, Problem problem);

}  // namespace pipetrain::cpu
