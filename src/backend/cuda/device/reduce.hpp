// Sums over parts of a tensor, by our own device code: in f64, in an order that depends on the
// sizes alone, so that runs are bitwise reproducible. All work is enqueued on the stream and runs
// later.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

namespace pipetrain::cuda {

// The most partial sums that one of these functions makes.
inline constexpr std::int64_t kPartialSumsMax = 32 * 1024;

// Where to enqueue sums. Those on one stream share the memory: each ends before the next begins.
struct SumStream {
  cudaStream_t stream;
  double* partials;  // kPartialSumsMax doubles in device memory
};

// gradient[c] = the sum over rows of dy[row][c]; with `accumulate`, added to it. For the bias of a
// linear layer.
void column_sums(const SumStream& on, const float* dy, std::int64_t rows, std::int64_t columns,
                 float* gradient, bool accumulate);

// gradient[c] = the sum of dy[n][c][i] over all n and i; with `accumulate`, added to it. For the
// bias of conv2d.
void channel_sums(const SumStream& on, const float* dy, std::int64_t samples, std::int64_t channels,
                  std::int64_t inner, float* gradient, bool accumulate);

// means[row] = the mean of values[row][0 .. columns - 1].
void row_means(cudaStream_t stream, const float* values, std::int64_t rows, std::int64_t columns,
               float* means);

// *result = the sum of squares.
void sum_of_squares(const SumStream& on, const float* values, std::int64_t elements,
                    double* result);

}  // namespace pipetrain::cuda
