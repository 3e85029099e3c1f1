// A channel's values are cut into slices. A block adds up one slice of one channel; then one thread
// per channel adds up its slices, in their order. Variances are taken about the channel's first
// value, so that nothing cancels.
#include "backend/cuda/device/batch_norm.hpp"

#include "backend/cuda/device/device_code.hpp"
#include "base/bytes_of.hpp"

namespace pipetrain::cuda {
namespace {

constexpr std::int64_t kSliceMin = 16 * kBlock;  // values; fewer are not worth a block
constexpr std::int64_t kItems = 1024;            // slices of all channels: enough for any device
constexpr std::int64_t kSlicesMax = 64;          // per channel: one thread adds them up

struct Slices {
  std::int64_t values, count, length;  // per channel: values, slices, values of a slice
};

Slices slices_of(const Planes& planes) {
  const std::int64_t values = planes.samples * planes.inner;
  const std::int64_t wanted = std::min({values / kSliceMin, kItems / planes.channels, kSlicesMax});
  const std::int64_t count = std::max<std::int64_t>(wanted, 1);
  return {values, count, (values + count - 1) / count};
}

// Calls body(item, channel, begin, end) for each of this block's slices.
template <class Body>
__device__ void each_slice(const Planes& planes, const Slices& slices, Body body) {
  for (std::int64_t item = blockIdx.x; item < planes.channels * slices.count; item += gridDim.x) {
    const std::int64_t begin = item % slices.count * slices.length, end = begin + slices.length;
    body(item, item / slices.count, begin, end < slices.values ? end : slices.values);
  }
}

__device__ Sums add_slices(const Sums* partials, std::int64_t channel, const Slices& slices) {
  Sums sums{0, 0};
  for (std::int64_t i = 0; i < slices.count; ++i)
    sums = sums + partials[channel * slices.count + i];
  return sums;
}

__device__ float first_value(const float* x, const Planes& planes, std::int64_t channel) {
  return x[channel * planes.inner];
}

__global__ void moments_kernel(Planes planes, Slices slices, const float* x, Sums* partials) {
  __shared__ Sums shared[kBlock];
  each_slice(planes, slices,
             [&](std::int64_t item, std::int64_t c, std::int64_t begin, std::int64_t end) {
               const double shift = first_value(x, planes, c);
               Sums sums{0, 0};
               visit_channel(planes, c, begin, end, [&](std::int64_t i) {
                 const double shifted = x[i] - shift;
                 sums = sums + Sums{shifted, shifted * shifted};
               });
               sums = sum_block(sums, shared);
               if (threadIdx.x == 0) partials[item] = sums;
             });
}

__device__ void move(float& running, double momentum, double to) {
  running = static_cast<float>((1 - momentum) * running + momentum * to);
}

__global__ void statistics_kernel(Measurement m, Slices slices) {
  for (std::int64_t c = first_index(); c < m.planes.channels; c += index_step()) {
    const auto [sum, squares] = add_slices(static_cast<const Sums*>(m.partials), c, slices);
    const double count = static_cast<double>(slices.values), shifted = sum / count;
    const double mean = first_value(m.x, m.planes, c) + shifted;
    const double rest = squares - sum * shifted, spread = rest < 0 ? 0 : rest;  // a NaN stays a NaN
    m.statistics[c] = {mean, 1 / sqrt(spread / count + m.eps)};
    if (m.momentum == 0) continue;
    move(m.running.mean[c], m.momentum, mean);
    // A single value has no unbiased variance; its 0 is used.
    move(m.running.variance[c], m.momentum, count > 1 ? spread / (count - 1) : spread);
  }
}

__global__ void recall_kernel(RunningStatistics running, std::int64_t channels, double eps,
                              Statistics* statistics) {
  for (std::int64_t c = first_index(); c < channels; c += index_step())
    statistics[c] = {running.mean[c], 1 / sqrt(running.variance[c] + eps)};
}

__global__ void normalise_kernel(Normalisation n) {
  visit_elements(n.planes, [&](std::int64_t i, std::int64_t c) {
    const auto [mean, scale] = n.statistics[c];
    const auto centred = static_cast<float>(n.x[i] - mean);
    const auto factor = static_cast<float>(scale * n.gamma[c]);
    const float y = centred * factor + n.beta[c];
    n.y[i] = n.with_relu && y < 0 ? 0 : y;
  });
}

__global__ void products_kernel(GradientInput in, Slices slices) {
  __shared__ Sums shared[kBlock];
  each_slice(in.planes, slices,
             [&](std::int64_t item, std::int64_t c, std::int64_t begin, std::int64_t end) {
               const double mean = in.statistics[c].mean;
               Sums sums{0, 0};
               visit_channel(in.planes, c, begin, end, [&](std::int64_t i) {
                 const double dy = in.dy[i];
                 sums = sums + Sums{dy, dy * (in.x[i] - mean)};
               });
               sums = sum_block(sums, shared);
               if (threadIdx.x == 0) static_cast<Sums*>(in.partials)[item] = sums;
             });
}

__device__ GradientSums gradient_sums(const GradientInput& in, std::int64_t channel,
                                      const Slices& slices) {
  const Sums sums = add_slices(static_cast<const Sums*>(in.partials), channel, slices);
  return {sums.a, sums.b * in.statistics[channel].scale};
}

__global__ void gradient_sums_kernel(GradientInput in, Slices slices, GradientSums* sums) {
  for (std::int64_t c = first_index(); c < in.planes.channels; c += index_step())
    sums[c] = gradient_sums(in, c, slices);
}

__global__ void input_gradient_kernel(GradientInput in, const float* gamma,
                                      const GradientSums* sums, double inverse_count, float* dx) {
  visit_elements(in.planes, [&](std::int64_t i, std::int64_t c) {
    const auto [mean, scale] = in.statistics[c];
    const auto centred = static_cast<float>(in.x[i] - mean);
    const auto factor = static_cast<float>(scale * gamma[c]);
    const auto shift = static_cast<float>(sums[c].sum * inverse_count);
    const auto slope = static_cast<float>(sums[c].product * inverse_count * scale);
    dx[i] = factor * (in.dy[i] - shift - centred * slope);
  });
}

__device__ void put(float& to, double sum, bool accumulate) {
  to = static_cast<float>(accumulate ? to + sum : sum);
}

__global__ void parameter_gradients_kernel(GradientInput in, Slices slices, float* gamma_gradient,
                                           float* beta_gradient, bool accumulate) {
  for (std::int64_t c = first_index(); c < in.planes.channels; c += index_step()) {
    const auto [sum, product] = gradient_sums(in, c, slices);
    put(gamma_gradient[c], product, accumulate);
    put(beta_gradient[c], sum, accumulate);
  }
}

void launch_products(cudaStream_t stream, const GradientInput& in, const Slices& slices) {
  launch(products_kernel, std::min(in.planes.channels * slices.count, kGrid), kBlock, stream, in,
         slices);
}

}  // namespace

std::size_t partials_bytes(const Planes& planes) {
  return bytes_of<Sums>(planes.channels * slices_of(planes).count);
}

void measure(cudaStream_t stream, const Measurement& m) {
  const Slices slices = slices_of(m.planes);
  launch(moments_kernel, std::min(m.planes.channels * slices.count, kGrid), kBlock, stream,
         m.planes, slices, m.x, static_cast<Sums*>(m.partials));
  launch(statistics_kernel, blocks_for(m.planes.channels), kBlock, stream, m, slices);
}

void recall(cudaStream_t stream, const RunningStatistics& running, std::int64_t channels,
            double eps, Statistics* statistics) {
  launch(recall_kernel, blocks_for(channels), kBlock, stream, running, channels, eps, statistics);
}

void normalise(cudaStream_t stream, const Normalisation& n) {
  launch(normalise_kernel, blocks_for(n.planes.elements()), kBlock, stream, n);
}

void input_gradient(cudaStream_t stream, const GradientInput& in, const float* gamma,
                    GradientSums* sums, float* dx) {
  const Slices slices = slices_of(in.planes);
  launch_products(stream, in, slices);
  launch(gradient_sums_kernel, blocks_for(in.planes.channels), kBlock, stream, in, slices, sums);
  launch(input_gradient_kernel, blocks_for(in.planes.elements()), kBlock, stream, in, gamma, sums,
         1 / static_cast<double>(slices.values), dx);
}

void parameter_gradients(cudaStream_t stream, const GradientInput& in, float* gamma_gradient,
                         float* beta_gradient, bool accumulate) {
  const Slices slices = slices_of(in.planes);
  launch_products(stream, in, slices);
  launch(parameter_gradients_kernel, blocks_for(in.planes.channels), kBlock, stream, in, slices,
         gamma_gradient, beta_gradient, accumulate);
}

}  // namespace pipetrain::cuda
