// Additive attention by our own device code. Forward computes the tanh of every pair of a query and
// a key; backward computes it again, once for the gradients of queries and once for those of keys,
// so that one thread makes each sum. All work is enqueued on the stream and runs later.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

namespace pipetrain::cuda {

struct SumStream;  // reduce.hpp

// Queries [samples][queries][units], keys [samples][keys][units], values [samples][keys][width].
// Keys at a padding token take no part; a query that sees no key gives 0.
struct AdditiveSizes {
  std::int64_t samples, queries, keys, units, width;
  const std::int32_t* tokens = nullptr;  // [samples][keys]; null: no padding
  std::int32_t padding = -1;

  __host__ __device__ std::int64_t query_rows() const { return samples * queries; }
  __host__ __device__ std::int64_t key_rows() const { return samples * keys; }
};

// What the scores are computed with: v = g att / |att|, or att if g is null.
struct AdditiveParameters {
  const float *att, *g, *bias;  // bias: null, or [units]
};
struct AdditiveVector {
  float* v;             // [units]
  float *unit, *scale;  // att / |att| and g / |att|, for the gradients; null: not wanted
};
void additive_vector(cudaStream_t stream, const AdditiveParameters& parameters, std::int64_t units,
                     const AdditiveVector& to);

struct AdditiveInputs {
  const float *queries, *keys, *values;
  const float *v, *bias;  // bias may be null
};
// p: the weights of the keys, [samples][queries][keys], 0 for those that take no part.
void additive_attention(cudaStream_t stream, const AdditiveSizes& of, const AdditiveInputs& in,
                        float* p, float* y);

struct AdditiveBackward {
  AdditiveSizes of;
  AdditiveInputs in;
  const float *p, *dy;
  float* ds;    // scratch, sized as p
  float* of_v;  // scratch: each query's share of v's gradient, [samples][queries][units]
};
struct AdditiveGradients {
  float *queries, *keys, *values;  // keys, values: null if not wanted
  float *v, *bias;                 // [units]
};
void additive_attention_backward(const SumStream& on, const AdditiveBackward& backward,
                                 const AdditiveGradients& to);

// Gradients of the parameters, from those of v and the bias; g null: not normalised.
struct AdditiveParameterGradients {
  const float *v, *bias, *unit, *scale;
  float *att, *g, *to_bias;
  bool accumulate;
};
void additive_parameter_gradients(cudaStream_t stream, std::int64_t units,
                                  const AdditiveParameterGradients& gradients);

}  // namespace pipetrain::cuda
