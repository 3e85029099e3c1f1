// The table of sinusoidal positions by our own device code.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

namespace pipetrain::cuda {

// table[t][2i] = sin(t / 10000^(2i / width)), table[t][2i + 1] = the cosine of the same, in f64.
// Enqueued on the stream, runs later.
void sinusoids(cudaStream_t stream, std::int64_t length, std::int64_t width, float* table);

}  // namespace pipetrain::cuda
