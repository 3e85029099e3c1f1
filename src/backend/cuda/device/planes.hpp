// The shape of a tensor as our own device code sees it.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

namespace pipetrain::cuda {

// [samples, channels, inner], row-major. A matrix [rows, columns] has samples = rows, channels =
// columns and inner = 1.
struct Planes {
  std::int64_t samples, channels, inner;

  __host__ __device__ std::int64_t elements() const { return samples * channels * inner; }
};

}  // namespace pipetrain::cuda
