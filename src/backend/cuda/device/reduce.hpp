// Sums over parts of a tensor, by our own device code: in f64, in an order that the sizes alone
// decide, so that a run repeats to the bit. All of it is asked of the stream and done later.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

namespace pipetrain::cuda {

// The most partial sums that a sum makes on its way.
inline constexpr std::int64_t kPartialSumsMax = 32 * 1024;

// Where sums are asked for. Those of one stream share the memory: each is over before the next.
struct SumStream {
  cudaStream_t stream;
  double* partials;  // kPartialSumsMax doubles of the device's memory
};

// gradient[c] = the sum over rows of dy[row][c], or that much more where it accumulates. The bias
// of a linear layer.
void column_sums(const SumStream& on, const float* dy, std::int64_t rows, std::int64_t columns,
                 float* gradient, bool accumulate);

// gradient[c] = the sum of dy[n][c][i] over all n and i, or that much more. The bias of conv2d.
void channel_sums(const SumStream& on, const float* dy, std::int64_t samples, std::int64_t channels,
                  std::int64_t inner, float* gradient, bool accumulate);

// means[row] = the mean of values[row][0 .. columns - 1].
void row_means(cudaStream_t stream, const float* values, std::int64_t rows, std::int64_t columns,
               float* means);

// *result = the sum of squares.
void sum_of_squares(const SumStream& on, const float* values, std::int64_t elements,
                    double* result);

}  // namespace pipetrain::cuda
