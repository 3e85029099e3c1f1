// Forward and the gradients of scores: a block takes one query, and each of its lines one key at a
// time. The other gradients: a thread takes one element and adds up over keys or queries, in their
// order.
#include "backend/cuda/device/additive_attention.hpp"

#include "backend/cuda/device/device_code.hpp"
#include "backend/cuda/device/reduce.hpp"

namespace pipetrain::cuda {
namespace {

struct Larger {
  __device__ float operator()(float a, float b) const { return a < b ? b : a; }
};

__device__ bool is_hidden(const AdditiveSizes& of, std::int64_t key_row) {
  return of.tokens && of.tokens[key_row] == of.padding;
}

__device__ float bent(const AdditiveSizes& of, const AdditiveInputs& in, std::int64_t query_row,
                      std::int64_t key_row, std::int64_t n) {
  const float sum = in.queries[query_row * of.units + n] + in.keys[key_row * of.units + n];
  return tanhf(in.bias ? sum + in.bias[n] : sum);
}

// Called by all threads of a block: to[key] = the sum over i < `count` of term(key's row, i), or
// `otherwise` if the key is hidden. All threads see the result.
template <class Term>
__device__ void sum_for_keys(const AdditiveSizes& of, std::int64_t query_row, std::int64_t count,
                             float* to, float otherwise, float* shared, Term term) {
  const std::int64_t first_row = query_row / of.queries * of.keys;
  for (std::int64_t first = 0; first < of.keys; first += kLines) {
    const std::int64_t key = first + line_of_block();
    const bool seen = key < of.keys && !is_hidden(of, first_row + key);
    float sum = 0;
    if (seen)
      for (std::int64_t i = lane_of_block(); i < count; i += kLanes)
        sum += term(first_row + key, i);
    sum = sum_line(sum, shared);
    if (key < of.keys && lane_of_block() == 0) to[key] = seen ? sum : otherwise;
  }
  __syncthreads();
}

__global__ void vector_kernel(AdditiveParameters parameters, std::int64_t units,
                              AdditiveVector to) {
  __shared__ double shared[kBlock];
  double squares = 0;
  for (std::int64_t n = threadIdx.x; n < units; n += kBlock)
    squares += double{parameters.att[n]} * parameters.att[n];
  const double norm = sqrt(sum_block(squares, shared));
  const double scale = parameters.g ? *parameters.g / norm : 1;
  for (std::int64_t n = threadIdx.x; n < units; n += kBlock) {
    to.v[n] = static_cast<float>(scale * parameters.att[n]);
    if (to.unit) to.unit[n] = static_cast<float>(parameters.att[n] / norm);
  }
  if (to.scale && threadIdx.x == 0) *to.scale = static_cast<float>(scale);
}

__global__ void attention_kernel(AdditiveSizes of, AdditiveInputs in, float* p, float* y) {
  __shared__ float shared[kBlock];
  for (std::int64_t row = blockIdx.x; row < of.query_rows(); row += gridDim.x) {
    const std::int64_t first_row = row / of.queries * of.keys;
    float* const weights = p + row * of.keys;
    sum_for_keys(of, row, of.units, weights, -HUGE_VALF, shared,
                 [&](std::int64_t key_row, std::int64_t n) {
                   return in.v[n] * bent(of, in, row, key_row, n);
                 });
    float largest = -HUGE_VALF, sum = 0;
    for (std::int64_t s = threadIdx.x; s < of.keys; s += kBlock)
      largest = Larger{}(largest, weights[s]);
    largest = reduce_block(largest, shared, Larger{});
    for (std::int64_t s = threadIdx.x; s < of.keys; s += kBlock) {
      weights[s] = weights[s] == -HUGE_VALF ? 0 : expf(weights[s] - largest);
      sum += weights[s];
    }
    sum = sum_block(sum, shared);
    for (std::int64_t s = threadIdx.x; s < of.keys; s += kBlock)
      weights[s] = sum == 0 ? 0 : weights[s] / sum;
    __syncthreads();
    for (std::int64_t c = threadIdx.x; c < of.width; c += kBlock) {
      float value = 0;
      for (std::int64_t s = 0; s < of.keys; ++s)
        if (!is_hidden(of, first_row + s))
          value += weights[s] * in.values[(first_row + s) * of.width + c];
      y[row * of.width + c] = value;
    }
  }
}

// ds = p (dp - p . dp), dp = dy . values
__global__ void score_gradient_kernel(AdditiveBackward b) {
  __shared__ float shared[kBlock];
  const AdditiveSizes& of = b.of;
  for (std::int64_t row = blockIdx.x; row < of.query_rows(); row += gridDim.x) {
    const std::int64_t first_row = row / of.queries * of.keys;
    const float* const p = b.p + row * of.keys;
    float* const ds = b.ds + row * of.keys;
    sum_for_keys(of, row, of.width, ds, 0, shared, [&](std::int64_t key_row, std::int64_t c) {
      return b.dy[row * of.width + c] * b.in.values[key_row * of.width + c];
    });
    float mean = 0;
    for (std::int64_t s = threadIdx.x; s < of.keys; s += kBlock) mean += p[s] * ds[s];
    mean = sum_block(mean, shared);
    for (std::int64_t s = threadIdx.x; s < of.keys; s += kBlock)
      ds[s] = is_hidden(of, first_row + s) ? 0 : p[s] * (ds[s] - mean);
  }
}

__global__ void value_gradient_kernel(AdditiveBackward b, float* to) {
  const AdditiveSizes& of = b.of;
  const std::int64_t elements = of.key_rows() * of.width;
  for (std::int64_t i = first_index(); i < elements; i += index_step()) {
    const std::int64_t key_row = i / of.width, c = i % of.width, sample = key_row / of.keys;
    float sum = 0;
    if (!is_hidden(of, key_row))
      for (std::int64_t row = sample * of.queries; row < (sample + 1) * of.queries; ++row)
        sum += b.p[row * of.keys + key_row % of.keys] * b.dy[row * of.width + c];
    to[i] = sum;
  }
}

// The gradient of the query, and its share of v's gradient.
__global__ void query_gradient_kernel(AdditiveBackward b, float* to) {
  const AdditiveSizes& of = b.of;
  const std::int64_t elements = of.query_rows() * of.units;
  for (std::int64_t i = first_index(); i < elements; i += index_step()) {
    const std::int64_t row = i / of.units, n = i % of.units, first_row = row / of.queries * of.keys;
    float sum = 0, of_v = 0;
    for (std::int64_t s = 0; s < of.keys; ++s) {
      if (is_hidden(of, first_row + s)) continue;
      const float t = bent(of, b.in, row, first_row + s, n), ds = b.ds[row * of.keys + s];
      sum += ds * (1 - t * t);
      of_v += ds * t;
    }
    to[i] = b.in.v[n] * sum;
    b.of_v[i] = of_v;
  }
}

__global__ void key_gradient_kernel(AdditiveBackward b, float* to) {
  const AdditiveSizes& of = b.of;
  const std::int64_t elements = of.key_rows() * of.units;
  for (std::int64_t i = first_index(); i < elements; i += index_step()) {
    const std::int64_t key_row = i / of.units, n = i % of.units, sample = key_row / of.keys;
    float sum = 0;
    if (!is_hidden(of, key_row))
      for (std::int64_t row = sample * of.queries; row < (sample + 1) * of.queries; ++row) {
        const float t = bent(of, b.in, row, key_row, n);
        sum += b.ds[row * of.keys + key_row % of.keys] * (1 - t * t);
      }
    to[i] = b.in.v[n] * sum;
  }
}

__device__ void put(float& to, double sum, bool accumulate) {
  to = static_cast<float>(accumulate ? to + sum : sum);
}

// With u = att / |att| and v = g u:  dg = dv . u,  datt = g / |att| (dv - u dg).
__global__ void parameter_gradients_kernel(std::int64_t units, AdditiveParameterGradients to) {
  __shared__ double shared[kBlock];
  double dg = 0;
  for (std::int64_t n = threadIdx.x; n < units; n += kBlock) dg += double{to.v[n]} * to.unit[n];
  dg = sum_block(dg, shared);
  for (std::int64_t n = threadIdx.x; n < units; n += kBlock) {
    const double along = to.g ? to.unit[n] * dg : 0;
    put(to.att[n], *to.scale * (to.v[n] - along), to.accumulate);
    if (to.to_bias) put(to.to_bias[n], to.bias[n], to.accumulate);
  }
  if (to.g && threadIdx.x == 0) put(*to.g, dg, to.accumulate);
}

}  // namespace

void additive_vector(cudaStream_t stream, const AdditiveParameters& parameters, std::int64_t units,
                     const AdditiveVector& to) {
  launch(vector_kernel, 1, kBlock, stream, parameters, units, to);
}

void additive_attention(cudaStream_t stream, const AdditiveSizes& of, const AdditiveInputs& in,
                        float* p, float* y) {
  launch(attention_kernel, std::min(of.query_rows(), kGrid), kBlock, stream, of, in, p, y);
}

void additive_attention_backward(const SumStream& on, const AdditiveBackward& b,
                                 const AdditiveGradients& to) {
  const AdditiveSizes& of = b.of;
  launch(score_gradient_kernel, std::min(of.query_rows(), kGrid), kBlock, on.stream, b);
  launch(query_gradient_kernel, blocks_for(of.query_rows() * of.units), kBlock, on.stream, b,
         to.queries);
  column_sums(on, b.of_v, of.query_rows(), of.units, to.v, false);
  column_sums(on, to.queries, of.query_rows(), of.units, to.bias, false);
  if (to.keys)
    launch(key_gradient_kernel, blocks_for(of.key_rows() * of.units), kBlock, on.stream, b,
           to.keys);
  if (to.values)
    launch(value_gradient_kernel, blocks_for(of.key_rows() * of.width), kBlock, on.stream, b,
           to.values);
}

void additive_parameter_gradients(cudaStream_t stream, std::int64_t units,
                                  const AdditiveParameterGradients& gradients) {
  launch(parameter_gradients_kernel, 1, kBlock, stream, units, gradients);
}

}  // namespace pipetrain::cuda
