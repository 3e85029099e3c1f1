// The two losses by our own device code, in f64. All work is enqueued on the stream and runs later.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

namespace pipetrain::cuda {

struct LossSums {  // where a micro-batch's sums are added; in memory that device and host can reach
  double* sum;
  std::int64_t *correct, *correct_top5;
};

struct CrossEntropyInput {
  std::int64_t samples, classes;
  const float* y;              // [samples][classes]
  const std::int32_t* labels;  // one per sample, each below `classes`, or kNoLabel
  double own = 1, spread = 0;  // of a smoothed label: the share of its class, and of every class
};
std::size_t cross_entropy_partials_bytes(std::int64_t samples);
void cross_entropy(cudaStream_t stream, const CrossEntropyInput& in, void* partials,
                   const LossSums& result);
void cross_entropy_gradient(cudaStream_t stream, const CrossEntropyInput& in, double scale,
                            float* gradient);

struct MseInput {
  std::int64_t samples, elements;  // elements: per sample
  const float *y, *targets;        // [samples][elements]
};
std::size_t mse_partials_bytes(const MseInput& in);
void mse(cudaStream_t stream, const MseInput& in, void* partials, const LossSums& result);
void mse_gradient(cudaStream_t stream, const MseInput& in, double scale, float* gradient);

}  // namespace pipetrain::cuda
