// Layer normalisation, row by row, by our own device code: what backend/cuda/layer_norm.cpp puts
// together. All of it is asked of the stream and done later.
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
  const float *x, *gamma, *beta;  // beta: null where there is none
  double eps;
  RowStatistics* statistics;  // of each row, for the backward; null: nobody wants them
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

// Where partial sums go while parameters' gradients are made.
std::size_t layer_norm_partials_bytes(const Rows& size);

struct LayerNormGradients {
  float *gamma, *beta;  // beta: null where there is none
  bool accumulate;
};
// The sums over the rows of dy x' and of dy, or that much more where they accumulate.
void layer_norm_parameter_gradients(cudaStream_t stream, const LayerNormBackward& in,
                                    void* partials, const LayerNormGradients& to);

}  // namespace pipetrain::cuda
