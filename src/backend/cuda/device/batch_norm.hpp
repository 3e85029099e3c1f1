// Batch normalisation per channel, by our own device code: the steps that
// backend/cuda/batch_norm.cpp combines. All work is enqueued on the stream and runs later.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

#include "backend/cuda/device/planes.hpp"

namespace pipetrain::cuda {

struct Statistics {    // of one channel
  double mean, scale;  // scale = 1 / sqrt(var + eps)
};
struct GradientSums {   // of one channel
  double sum, product;  // of dy, and of dy x'
};

// Size of the partial sums that statistics and gradient sums need while they are computed.
std::size_t partials_bytes(const Planes& planes);

struct RunningStatistics {
  float *mean, *variance;  // per channel
};

// Statistics of a micro-batch (biased variance). If `momentum` is not 0, the running statistics
// move towards them (the variance towards its unbiased estimate); otherwise they are left alone.
struct Measurement {
  Planes planes;
  const float* x;
  double eps, momentum;
  RunningStatistics running;
  void* partials;  // partials_bytes()
  Statistics* statistics;
};
void measure(cudaStream_t stream, const Measurement& m);

// Makes statistics from the running ones.
void recall(cudaStream_t stream, const RunningStatistics& running, std::int64_t channels,
            double eps, Statistics* statistics);

struct Normalisation {  // y = (x - mean) scale gamma + beta; with_relu: then max(.., 0)
  Planes planes;
  const float* x;
  const Statistics* statistics;
  const float *gamma, *beta;
  bool with_relu;
  float* y;
};
void normalise(cudaStream_t stream, const Normalisation& n);

struct GradientInput {
  Planes planes;
  const float *x, *dy;
  const Statistics* statistics;
  void* partials;  // partials_bytes()
};
// dx = gamma scale (dy - mean(dy) - x' mean(dy x')); `sums`: scratch, one per channel.
void input_gradient(cudaStream_t stream, const GradientInput& in, const float* gamma,
                    GradientSums* sums, float* dx);
// The sums of dy x' and of dy; with `accumulate`, added to the gradients.
void parameter_gradients(cudaStream_t stream, const GradientInput& in, float* gamma_gradient,
                         float* beta_gradient, bool accumulate);

}  // namespace pipetrain::cuda
