// The functions of the elementwise layers, by our own device code. All work is enqueued on the
// stream and runs later; with no elements, nothing is enqueued.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "graph/layer_spec.hpp"

namespace pipetrain::cuda {

// y = f(x), elementwise.
void apply_function(cudaStream_t stream, const ElementwiseSpec& function, const float* x, float* y,
                    std::int64_t elements);
// dx = dy f'(x). dx may be dy.
void apply_slope(cudaStream_t stream, const ElementwiseSpec& function, const float* x,
                 const float* dy, float* dx, std::int64_t elements);

}  // namespace pipetrain::cuda
