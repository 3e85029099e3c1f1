// Pooling windows, by our own device code: cuDNN does not say which of equal values its backward
// takes for the largest, and would keep input and output for it. All of it is asked of the stream
// and done later. Each gradient is one sum in one thread, in the windows' order.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

namespace pipetrain::cuda {

struct Extent {
  int height, width;
};

// Of every plane (an image's channel) alike.
struct Pooling {
  std::int64_t planes;  // samples * channels
  Extent in, out;
  Extent kernel, stride, padding;
};

// Where in its window the largest is: row * kernel width + column.
using PoolTap = std::uint16_t;
inline constexpr PoolTap kNoTap = 65535;  // a window of padding alone
inline constexpr std::int64_t kPoolTapsMax = 65535;

// y = the largest of each window, and, unless null, taps = where it is. The first of equals; a NaN
// is larger than everything.
void max_pool(cudaStream_t stream, const Pooling& pooling, const float* x, float* y, PoolTap* taps);
void max_pool_backward(cudaStream_t stream, const Pooling& pooling, const PoolTap* taps,
                       const float* dy, float* dx);

// y = the mean of each window; padding counts as zeros.
void avg_pool(cudaStream_t stream, const Pooling& pooling, const float* x, float* y);
void avg_pool_backward(cudaStream_t stream, const Pooling& pooling, const float* dy, float* dx);

}  // namespace pipetrain::cuda
