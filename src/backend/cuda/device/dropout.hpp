// Dropout by our own device code: the mask of backend/dropout_mask.hpp, drawn as it is applied.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

namespace pipetrain::cuda {

struct MaskDraw {  // DropoutMask::Parts, as passed to a device
  std::uint64_t key, stream, dropped_below;
  float scale;
};

// to[i] = from[i] * the factor of element i. Enqueued on the stream, runs later.
void drop(cudaStream_t stream, const MaskDraw& draw, const float* from, float* to,
          std::int64_t elements);

}  // namespace pipetrain::cuda
