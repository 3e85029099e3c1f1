// Pooling windows on the device (pool.hpp). One thread per output in forward, per input in
// backward, so that no two threads add to the same value.
#include <cmath>

#include "backend/cuda/device/device_code.hpp"
#include "backend/cuda/device/pool.hpp"

namespace pipetrain::cuda {
namespace {

std::int64_t outputs(const Pooling& p) { return p.planes * p.out.height * p.out.width; }
std::int64_t inputs(const Pooling& p) { return p.planes * p.in.height * p.in.width; }

// The coordinates of element number `element`, in planes of this extent.
struct Place {
  std::int64_t plane;
  int y, x;
};
__device__ inline Place place_of(std::int64_t element, const Extent& extent) {
  const std::int64_t row = element / extent.width;
  return {row / extent.height, static_cast<int>(row % extent.height),
          static_cast<int>(element % extent.width)};
}

// Visits the elements of a window that are not padding, row by row: visit(input element, tap).
template <class Visit>
__device__ void visit_window(const Pooling& p, const Place& output, Visit visit) {
  const int top = output.y * p.stride.height - p.padding.height,
            left = output.x * p.stride.width - p.padding.width;
  for (int ky = 0; ky < p.kernel.height; ++ky) {
    const int y = top + ky;
    if (y < 0 || y >= p.in.height) continue;
    for (int kx = 0; kx < p.kernel.width; ++kx) {
      const int x = left + kx;
      if (x < 0 || x >= p.in.width) continue;
      visit((output.plane * p.in.height + y) * p.in.width + x, ky * p.kernel.width + kx);
    }
  }
}

// The windows that contain a place of the input (counted with padding), along one axis: the first
// of them, and the one after the last.
__device__ inline int first_window(int place, int kernel, int stride) {
  return place < kernel ? 0 : (place - kernel) / stride + 1;
}
__device__ inline int end_of_windows(int place, int stride, int windows) {
  const int end = place / stride + 1;
  return end < windows ? end : windows;
}

// Visits the windows that contain an element of the input, row by row: visit(output, tap).
template <class Visit>
__device__ void visit_windows_of(const Pooling& p, const Place& input, Visit visit) {
  const int y = input.y + p.padding.height, x = input.x + p.padding.width;
  const int y_end = end_of_windows(y, p.stride.height, p.out.height),
            x_end = end_of_windows(x, p.stride.width, p.out.width);
  for (int oy = first_window(y, p.kernel.height, p.stride.height); oy < y_end; ++oy)
    for (int ox = first_window(x, p.kernel.width, p.stride.width); ox < x_end; ++ox)
      visit((input.plane * p.out.height + oy) * p.out.width + ox,
            (y - oy * p.stride.height) * p.kernel.width + (x - ox * p.stride.width));
}

__global__ void max_pool_kernel(Pooling p, const float* x, float* y, PoolTap* taps,
                                std::int64_t elements) {
  for (std::int64_t i = first_index(); i < elements; i += index_step()) {
    float largest = -INFINITY;
    int winner = kNoTap;
    visit_window(p, place_of(i, p.out), [&](std::int64_t from, int tap) {
      const float value = x[from];
      if (winner != kNoTap && !(value > largest) && value == value) return;  // a NaN wins
      largest = value;
      winner = tap;
    });
    y[i] = largest;
    if (taps) taps[i] = static_cast<PoolTap>(winner);
  }
}

__global__ void max_pool_backward_kernel(Pooling p, const PoolTap* taps, const float* dy, float* dx,
                                         std::int64_t elements) {
  for (std::int64_t i = first_index(); i < elements; i += index_step()) {
    float sum = 0;
    visit_windows_of(p, place_of(i, p.in), [&](std::int64_t output, int tap) {
      if (taps[output] == tap) sum += dy[output];
    });
    dx[i] = sum;
  }
}

__global__ void avg_pool_kernel(Pooling p, float share, const float* x, float* y,
                                std::int64_t elements) {
  for (std::int64_t i = first_index(); i < elements; i += index_step()) {
    float sum = 0;
    visit_window(p, place_of(i, p.out), [&](std::int64_t from, int) { sum += share * x[from]; });
    y[i] = sum;
  }
}

__global__ void avg_pool_backward_kernel(Pooling p, float share, const float* dy, float* dx,
                                         std::int64_t elements) {
  for (std::int64_t i = first_index(); i < elements; i += index_step()) {
    float sum = 0;
    visit_windows_of(p, place_of(i, p.in),
                     [&](std::int64_t output, int) { sum += share * dy[output]; });
    dx[i] = sum;
  }
}

float share_of(const Pooling& p) {
  return 1.0f / static_cast<float>(std::int64_t{p.kernel.height} * p.kernel.width);
}

}  // namespace

void max_pool(cudaStream_t stream, const Pooling& pooling, const float* x, float* y,
              PoolTap* taps) {
  const std::int64_t elements = outputs(pooling);
  launch(max_pool_kernel, blocks_for(elements), kBlock, stream, pooling, x, y, taps, elements);
}
void max_pool_backward(cudaStream_t stream, const Pooling& pooling, const PoolTap* taps,
                       const float* dy, float* dx) {
  const std::int64_t elements = inputs(pooling);
  launch(max_pool_backward_kernel, blocks_for(elements), kBlock, stream, pooling, taps, dy, dx,
         elements);
}
void avg_pool(cudaStream_t stream, const Pooling& pooling, const float* x, float* y) {
  const std::int64_t elements = outputs(pooling);
  launch(avg_pool_kernel, blocks_for(elements), kBlock, stream, pooling, share_of(pooling), x, y,
         elements);
}
void avg_pool_backward(cudaStream_t stream, const Pooling& pooling, const float* dy, float* dx) {
  const std::int64_t elements = inputs(pooling);
  launch(avg_pool_backward_kernel, blocks_for(elements), kBlock, stream, pooling, share_of(pooling),
         dy, dx, elements);
}

}  // namespace pipetrain::cuda
