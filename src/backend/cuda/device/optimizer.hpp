// Update rules by our own device code, in f32: the constants that backend/cuda/update.cpp works out
// once for all elements, and what the device does to each element. Work is enqueued on the stream
// and runs later.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

namespace pipetrain::cuda {

// new_weights may be `weights`.
struct Parameters {
  std::int64_t elements;
  const float *weights, *gradient;
  float *new_weights, *first_moment, *second_moment;
  float *delta, *corrected;  // null, or updated too; corrected needs delta
};

// delta = decay * delta + rest * (new - old weights); corrected = new weights - correction * delta.
struct DeltaStep {
  float decay, rest, correction;
};

struct SgdStep {  // g = scale * gradient + decay * weight
  enum Kind : int { Plain, Momentum, Nesterov } kind;
  float lr, decay, momentum, scale;
  DeltaStep delta;
};
void sgd(cudaStream_t stream, const SgdStep& step, const Parameters& p);

struct AdamStep {
  float scale, decay;  // g = scale * gradient + decay * weight
  float keep;          // factor of the weight: 1 except for adamw
  float beta1, rest1, beta2, rest2;
  float rate, root;  // with both biases corrected: rate * m / (sqrt(v) * root + eps)
  float eps;
  DeltaStep delta;
};
void adam(cudaStream_t stream, const AdamStep& step, const Parameters& p);

}  // namespace pipetrain::cuda
