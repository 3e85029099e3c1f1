// Layer normalisation, row by row, by our own device code: the steps that
// backend/cuda/layer_norm.cpp combines. All work is enqueued on the stream and runs later.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

namespace pipetrain::cuda {

struct Rows {
  std::int64_t rows, columns;
};

struct RowStatistics {
  double mean, scale;  // scale = 1 / sqrt(var + eps)
};

struct LayerNormForward {  // y = (x - mean) scale gamma + beta
  Rows size;
  const float *x, *gamma, *beta;  // beta: null if there is none
  double eps;
  RowStatistics* statistics;  // one per row, for the backward; null: not wanted
  float* y;
};
void layer_norm(cudaStream_t stream, const LayerNormForward& n);

struct LayerNormBackward {
  Rows size;
  const float *x, *dy;
  const RowStatistics* statistics;
};
// With g = gamma dy: dx = scale (g - mean(g) - x' mean(g x')).
void layer_norm_input_gradient(cudaStream_t stream, const LayerNormBackward& in, const float* gamma,
                               float* dx);

// Size of the partial sums that the gradients of the parameters need while they are computed.
std::size_t layer_norm_partials_bytes(const Rows& size);

struct LayerNormGradients {
  float *gamma, *beta;  // beta: null if there is none
  bool accumulate;
};
// The sums over the rows of dy x' and of dy; with `accumulate`, added to the gradients.
void layer_norm_parameter_gradients(cudaStream_t stream, const LayerNormBackward& in,
                                    void* partials, const LayerNormGradients& to);

}  // namespace pipetrain::cuda
