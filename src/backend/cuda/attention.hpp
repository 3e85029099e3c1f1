// Multi-head attention by our own device code (after Dao et al. 2022: tile by tile, no matrix of
// all scores). A row of the input is [3C]: queries, keys and values, in each of which the heads lie
// side by side. All of it is asked of the stream and done later.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

namespace pipetrain::cuda {

struct AttentionSizes {
  std::int64_t samples, length, heads, width;  // width: of one head
  bool causal;

  __host__ __device__ std::int64_t columns() const { return heads * width; }
  // One a position and head; [samples][length][heads], as the output has them.
  __host__ __device__ std::int64_t rows() const { return samples * length * heads; }
};

// Of a row of scores: what makes p = exp(score - largest) * factor again.
struct SoftmaxRow {
  float largest, factor;
};

// y = softmax(q k^T / sqrt(width)) v, by head. `softmax`: rows() of them, for the backward; null:
// nobody wants them.
void attention(cudaStream_t stream, const AttentionSizes& of, const float* qkv, SoftmaxRow* softmax,
               float* y);

struct AttentionBackward {
  AttentionSizes of;
  const float *qkv, *y, *dy;
  const SoftmaxRow* softmax;
  float* products;  // rows() of them, scratch: dy . y
};
void attention_backward(cudaStream_t stream, const AttentionBackward& in, float* dqkv);

}  // namespace pipetrain::cuda
