#include "backend/cuda/reduce.hpp"

#include "backend/cuda/device_code.hpp"

namespace pipetrain::cuda {
namespace {

constexpr int kLanes = 32;  // a block's threads as a matrix: neighbours read neighbours
constexpr int kLines = kBlock / kLanes;

__device__ void put(float& to, double sum, bool accumulate) {
  to = static_cast<float>(accumulate ? to + sum : sum);
}

// A block takes kLanes columns at a time, a lane each; a line takes every kLines-th row.
__global__ void column_sums_kernel(const float* dy, std::int64_t rows, std::int64_t columns,
                                   float* gradient, bool accumulate) {
  __shared__ double sums[kLines][kLanes];
  const unsigned lane = threadIdx.x % kLanes, line = threadIdx.x / kLanes;
  const std::int64_t step = std::int64_t{gridDim.x} * kLanes;
  for (std::int64_t first = std::int64_t{blockIdx.x} * kLanes; first < columns; first += step) {
    const std::int64_t column = first + lane;
    double sum = 0;
    if (column < columns)
      for (std::int64_t row = line; row < rows; row += kLines) sum += dy[row * columns + column];
    sums[line][lane] = sum;
    __syncthreads();
    if (line == 0 && column < columns) {
      for (int other = 1; other < kLines; ++other) sum += sums[other][lane];
      put(gradient[column], sum, accumulate);
    }
    __syncthreads();
  }
}

__global__ void channel_sums_kernel(const float* dy, Planes planes, float* gradient,
                                    bool accumulate) {
  __shared__ double shared[kBlock];
  for (std::int64_t c = blockIdx.x; c < planes.channels; c += gridDim.x) {
    double sum = 0;
    visit_channel(planes, c, 0, planes.samples * planes.inner,
                  [&](std::int64_t i) { sum += dy[i]; });
    sum = sum_block(sum, shared);
    if (threadIdx.x == 0) put(gradient[c], sum, accumulate);
  }
}

// A block takes kLines rows at a time, a line each; a lane takes every kLanes-th column.
__global__ void row_means_kernel(const float* values, std::int64_t rows, std::int64_t columns,
                                 float* means) {
  __shared__ double sums[kLines][kLanes + 1];  // one more: the lanes of a column in banks apart
  const unsigned lane = threadIdx.x % kLanes, line = threadIdx.x / kLanes;
  const std::int64_t step = std::int64_t{gridDim.x} * kLines;
  for (std::int64_t first = std::int64_t{blockIdx.x} * kLines; first < rows; first += step) {
    const std::int64_t row = first + line;
    double sum = 0;
    if (row < rows)
      for (std::int64_t column = lane; column < columns; column += kLanes)
        sum += values[row * columns + column];
    sums[line][lane] = sum;
    __syncthreads();
    if (lane == 0 && row < rows) {
      for (int other = 1; other < kLanes; ++other) sum += sums[line][other];
      means[row] = static_cast<float>(sum / static_cast<double>(columns));
    }
    __syncthreads();
  }
}

__global__ void squares_kernel(const float* values, std::int64_t elements, double* partials) {
  __shared__ double shared[kBlock];
  double sum = 0;
  for (std::int64_t i = first_index(); i < elements; i += index_step()) {
    const double value = values[i];
    sum += value * value;
  }
  sum = sum_block(sum, shared);
  if (threadIdx.x == 0) partials[blockIdx.x] = sum;
}

__global__ void total_kernel(const double* partials, std::int64_t count, double* result) {
  __shared__ double shared[kBlock];
  double sum = 0;
  for (std::int64_t i = threadIdx.x; i < count; i += kBlock) sum += partials[i];
  sum = sum_block(sum, shared);
  if (threadIdx.x == 0) *result = sum;
}

std::int64_t divided_up(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

}  // namespace

void column_sums(cudaStream_t stream, const float* dy, std::int64_t rows, std::int64_t columns,
                 float* gradient, bool accumulate) {
  launch(column_sums_kernel, std::min(divided_up(columns, kLanes), kGrid), kBlock, stream, dy, rows,
         columns, gradient, accumulate);
}

void channel_sums(cudaStream_t stream, const float* dy, std::int64_t samples, std::int64_t channels,
                  std::int64_t inner, float* gradient, bool accumulate) {
  launch(channel_sums_kernel, std::min(channels, kGrid), kBlock, stream, dy,
         Planes{samples, channels, inner}, gradient, accumulate);
}

void row_means(cudaStream_t stream, const float* values, std::int64_t rows, std::int64_t columns,
               float* means) {
  launch(row_means_kernel, std::min(divided_up(rows, kLines), kGrid), kBlock, stream, values, rows,
         columns, means);
}

void sum_of_squares(cudaStream_t stream, const float* values, std::int64_t elements,
                    double* partials, double* result) {
  const std::int64_t blocks = std::min(divided_up(elements, 8 * kBlock), kPartialSumsMax);
  launch(squares_kernel, blocks, kBlock, stream, values, elements, partials);
  launch(total_kernel, 1, kBlock, stream, partials, blocks, result);
}

}  // namespace pipetrain::cuda
