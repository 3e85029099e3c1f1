#include "backend/cuda/device/optimizer.hpp"

#include "backend/cuda/device/device_code.hpp"

namespace pipetrain::cuda {
namespace {

// Stores the weight `made` that an update made from `old`.
__device__ void store(const Parameters& p, const DeltaStep& step, std::int64_t i, float old,
                      float made) {
  p.new_weights[i] = made;
  if (!p.delta) return;
  const float delta = step.decay * p.delta[i] + step.rest * (made - old);
  p.delta[i] = delta;
  if (p.corrected) p.corrected[i] = made - step.correction * delta;
}

__global__ void sgd_kernel(SgdStep step, Parameters p) {
  for (std::int64_t i = first_index(); i < p.elements; i += index_step()) {
    const float weight = p.weights[i];
    float g = step.scale * p.gradient[i] + step.decay * weight;
    if (step.kind != SgdStep::Plain) {
      const float velocity = step.momentum * p.first_moment[i] + g;
      p.first_moment[i] = velocity;
      g = step.kind == SgdStep::Nesterov ? g + step.momentum * velocity : velocity;
    }
    store(p, step.delta, i, weight, weight - step.lr * g);
  }
}

__global__ void adam_kernel(AdamStep step, Parameters p) {
  for (std::int64_t i = first_index(); i < p.elements; i += index_step()) {
    const float weight = p.weights[i];
    const float g = step.scale * p.gradient[i] + step.decay * weight;
    const float m = step.beta1 * p.first_moment[i] + step.rest1 * g;
    const float v = step.beta2 * p.second_moment[i] + step.rest2 * g * g;
    p.first_moment[i] = m;
    p.second_moment[i] = v;
    store(p, step.delta, i, weight,
          weight * step.keep - step.rate * m / (sqrtf(v) * step.root + step.eps));
  }
}

}  // namespace

void sgd(cudaStream_t stream, const SgdStep& step, const Parameters& p) {
  launch(sgd_kernel, blocks_for(p.elements), kBlock, stream, step, p);
}

void adam(cudaStream_t stream, const AdamStep& step, const Parameters& p) {
  launch(adam_kernel, blocks_for(p.elements), kBlock, stream, step, p);
}

}  // namespace pipetrain::cuda
