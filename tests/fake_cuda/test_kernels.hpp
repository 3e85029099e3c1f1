// Device code for the fake's own tests: good kernels, and each kind of bad one.
#pragma once

#include <cuda_runtime_api.h>

namespace fake_cuda_test {

// to[i] = from[i] * factor + i, for `count` elements.
void affine(cudaStream_t stream, const float* from, float* to, float factor, int count);

void sum(cudaStream_t stream, const float* from, float* to, int count);  // at most 64

void past_the_end(cudaStream_t stream, float* to, int count);
void all_write_one(cudaStream_t stream, float* to);     // the threads of one block
void blocks_write_one(cudaStream_t stream, float* to);  // one thread of each block
void missing_sync(cudaStream_t stream, float* to);

}  // namespace fake_cuda_test
