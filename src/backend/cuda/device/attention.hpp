// Multi-head attention by our own device code (after Dao et al. 2022: tile by tile, no matrix of
// all scores). Queries, keys and values are rows of [heads][width], which may be side by side in
// one value or in several. All of it is asked of the stream and done later.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

namespace pipetrain::cuda {

// T queries, S keys. Keys at a padding token take no part: their weights and gradients are 0; a
// query that sees no other gives 0.
struct AttentionSizes {
  std::int64_t samples, queries, keys, heads, width;  // width: of one head
  bool causal;                                        // where queries and keys are the same rows
  const std::int32_t* tokens = nullptr;               // [samples][keys]; null: no padding
  std::int32_t padding = -1;

  __host__ __device__ std::int64_t columns() const { return heads * width; }
  // One a query and head; [samples][queries][heads], as the output has them.
  __host__ __device__ std::int64_t rows() const { return samples * queries * heads; }
};

// The first row of each, and how far the next one is.
template <class Value>
struct AttentionRows {
  Value *queries, *keys, *values;
  std::int64_t query_stride, key_stride;  // the latter of values too
};

// Of a row of scores: what makes p = exp(score - largest) * factor again.
struct SoftmaxRow {
  float largest, factor;
};

// y = softmax(q k^T / sqrt(width)) v, by head. `softmax`: rows() of them, for the backward; null:
// nobody wants them.
void attention(cudaStream_t stream, const AttentionSizes& of, const AttentionRows<const float>& in,
               SoftmaxRow* softmax, float* y);

struct AttentionBackward {
  AttentionSizes of;
  AttentionRows<const float> in;
  const float *y, *dy;
  const SoftmaxRow* softmax;
  float* products;  // rows() of them, scratch: dy . y
};
// queries, or keys and values, of `gradients` null: nobody wants them.
void attention_backward(cudaStream_t stream, const AttentionBackward& backward,
                        const AttentionRows<float>& gradients);

}  // namespace pipetrain::cuda
