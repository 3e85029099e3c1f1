#include "backend/cuda/device/elementwise_functions.hpp"

#include "backend/cuda/device/device_code.hpp"

namespace pipetrain::cuda {
namespace {

// ---- value_of(kind, x) and slope_of(kind, x) of each elementwise kind

// erfc, not 1 + erf: nothing cancels if x is far below 0.
__device__ float normal_share(float x) { return 0.5f * erfcf(-0.70710678f * x); }

// The approximation: the argument of its tanh, bent(x), and that argument's slope.
constexpr float kCube = 0.044715f, kGrowth = 0.79788456f;  // sqrt(2 / pi)
__device__ float bent(float x) { return kGrowth * (x + kCube * x * x * x); }
__device__ float bent_slope(float x) { return kGrowth * (1 + 3 * kCube * x * x); }

__device__ float value_of(const Gelu& gelu, float x) {
  return gelu.tanh ? 0.5f * x * (1 + tanhf(bent(x))) : x * normal_share(x);
}

__device__ float slope_of(const Gelu& gelu, float x) {
  if (!gelu.tanh) return normal_share(x) + x * 0.39894228f * expf(-0.5f * x * x);
  const float t = tanhf(bent(x));
  return 0.5f * (1 + t) + 0.5f * x * (1 - t * t) * bent_slope(x);
}

// ---- over all elements

template <class Kind>
__global__ void function_kernel(Kind kind, const float* x, float* y, std::int64_t elements) {
  for (std::int64_t i = first_index(); i < elements; i += index_step()) y[i] = value_of(kind, x[i]);
}

template <class Kind>
__global__ void slope_kernel(Kind kind, const float* x, const float* dy, float* dx,
                             std::int64_t elements) {
  for (std::int64_t i = first_index(); i < elements; i += index_step())
    dx[i] = dy[i] * slope_of(kind, x[i]);
}

}  // namespace

void apply_function(cudaStream_t stream, const ElementwiseSpec& function, const float* x, float* y,
                    std::int64_t elements) {
  const Grid grid(blocks_for(elements));
  std::visit(
      [&]<class Kind>(const Kind& kind) {
        launch(function_kernel<Kind>, grid, kBlock, stream, kind, x, y, elements);
      },
      function);
}

void apply_slope(cudaStream_t stream, const ElementwiseSpec& function, const float* x,
                 const float* dy, float* dx, std::int64_t elements) {
  const Grid grid(blocks_for(elements));
  std::visit(
      [&]<class Kind>(const Kind& kind) {
        launch(slope_kernel<Kind>, grid, kBlock, stream, kind, x, dy, dx, elements);
      },
      function);
}

}  // namespace pipetrain::cuda
