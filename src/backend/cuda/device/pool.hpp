// Pooling windows, by our own device code: cuDNN does not say which of several equal values its
// backward takes for the largest, and would need input and output kept for it. All work is enqueued
// on the stream and runs later. One thread makes each gradient, as a sum in the windows' order.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

namespace pipetrain::cuda {

struct Extent {
  int height, width;
};

// The same for every plane (an image's channel).
struct Pooling {
  std::int64_t planes;  // samples * channels
  Extent in, out;
  Extent kernel, stride, padding;
};

// The position of the largest value in its window: row * kernel width + column.
using PoolTap = std::uint16_t;
inline constexpr PoolTap kNoTap = 65535;  // a window of nothing but padding
inline constexpr std::int64_t kPoolTapsMax = 65535;

// y = the largest value of each window; taps, unless null = its position. The first of several
// equals wins; a NaN counts as larger than everything.
void max_pool(cudaStream_t stream, const Pooling& pooling, const float* x, float* y, PoolTap* taps);
void max_pool_backward(cudaStream_t stream, const Pooling& pooling, const PoolTap* taps,
                       const float* dy, float* dx);

// y = the mean of each window; padding counts as zeros.
void avg_pool(cudaStream_t stream, const Pooling& pooling, const float* x, float* y);
void avg_pool_backward(cudaStream_t stream, const Pooling& pooling, const float* dy, float* dx);

}  // namespace pipetrain::cuda
