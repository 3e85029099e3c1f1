// Multi-head attention by our own device code (after Dao et al. 2022: tile by tile, no matrix of
// all scores). Queries, keys and values are rows of [heads][width], next to each other in one value
// or in several values. All work is enqueued on the stream and runs later.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

namespace pipetrain::cuda {

// T queries, S keys. Keys at a padding token take no part: their weights and gradients are 0. A
// query that sees no key gives 0.
struct AttentionSizes {
  std::int64_t samples, queries, keys, heads, width;  // width: of one head
  bool causal;                                        // only if queries and keys are the same rows
  const std::int32_t* tokens = nullptr;               // [samples][keys]; null: no padding
  std::int32_t padding = -1;

  __host__ __device__ std::int64_t columns() const { return heads * width; }
  // One per query and head: [samples][queries][heads], in the order of the output.
  __host__ __device__ std::int64_t rows() const { return samples * queries * heads; }
};

// The first row of each, and the distance to the next row.
template <class Value>
struct AttentionRows {
  Value *queries, *keys, *values;
  std::int64_t query_stride, key_stride;  // key_stride: of values too
};

// Of a row of scores: what recomputes p = exp(score - largest) * factor.
struct SoftmaxRow {
  float largest, factor;
};

// y = softmax(q k^T / sqrt(width)) v, per head. `softmax`: rows() entries, for the backward; null:
// not wanted.
void attention(cudaStream_t stream, const AttentionSizes& of, const AttentionRows<const float>& in,
               SoftmaxRow* softmax, float* y);

struct AttentionBackward {
  AttentionSizes of;
  AttentionRows<const float> in;
  const float *y, *dy;
  const SoftmaxRow* softmax;
  float* products;  // rows() entries, scratch: dy . y
};
// In `gradients`, `queries` may be null, or both `keys` and `values`: not wanted.
void attention_backward(cudaStream_t stream, const AttentionBackward& backward,
                        const AttentionRows<float>& gradients);

}  // namespace pipetrain::cuda
