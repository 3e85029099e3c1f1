#include "backend/cuda/device/loss.hpp"

#include "backend/cuda/device/device_code.hpp"
#include "base/bytes_of.hpp"

namespace pipetrain::cuda {
namespace {

constexpr std::int64_t kMseBlocks = 256;

struct Larger {  // by `a`; a NaN is never the larger
  __device__ Sums operator()(const Sums& x, const Sums& y) const { return x.a < y.a ? y : x; }
};

// By one block: log(sum(exp(y))) of one sample, shifted by the largest so that nothing overflows.
// Also counts the outputs that beat the label's: the first of several equals wins; if the label's
// is a NaN, all beat it, otherwise every NaN does.
struct Sample {
  double normaliser;
  double rank;  // number of outputs that beat the label's; infinite if the label's is a NaN
};
__device__ Sample look_at(const float* y, std::int64_t classes, std::int64_t label, Sums* shared) {
  Sums largest{-HUGE_VAL, 0};
  for (std::int64_t c = threadIdx.x; c < classes; c += kBlock)
    largest = Larger{}(largest, {y[c], 0});
  largest = reduce_block(largest, shared, Larger{});
  Sums sums{0, 0};
  for (std::int64_t c = threadIdx.x; c < classes; c += kBlock) {
    const bool beaten = c < label ? y[label] > y[c] : y[label] >= y[c];
    sums = sums + Sums{exp(y[c] - largest.a), beaten ? 0.0 : 1.0};
  }
  sums = sum_block(sums, shared);
  return {largest.a + log(sums.a), y[label] == y[label] ? sums.b : HUGE_VAL};
}

__device__ double sum_of(const float* y, std::int64_t classes, Sums* shared) {
  Sums sums{0, 0};
  for (std::int64_t c = threadIdx.x; c < classes; c += kBlock) sums.a += y[c];
  return sum_block(sums, shared).a;
}

// Per label. One sum holds both counts, as whole numbers below 2^26 each.
constexpr double kTop5 = 1 << 26;
__device__ double hits(double rank) { return (rank == 0 ? 1.0 : 0.0) + (rank < 5 ? kTop5 : 0.0); }

__global__ void cross_entropy_kernel(CrossEntropyInput in, Sums* partials) {
  __shared__ Sums shared[kBlock];
  for (std::int64_t n = blockIdx.x; n < in.samples; n += gridDim.x) {
    const float* const y = in.y + n * in.classes;
    const std::int64_t label = in.labels[n];
    if (label < 0) {  // no label
      if (threadIdx.x == 0) partials[n] = {0, 0};
      continue;
    }
    const auto [normaliser, rank] = look_at(y, in.classes, label, shared);
    const double spread = in.spread > 0 ? in.spread * sum_of(y, in.classes, shared) : 0;
    if (threadIdx.x == 0) partials[n] = {normaliser - in.own * y[label] - spread, hits(rank)};
  }
}

__global__ void cross_entropy_gradient_kernel(CrossEntropyInput in, double scale, float* gradient) {
  __shared__ Sums shared[kBlock];
  for (std::int64_t n = blockIdx.x; n < in.samples; n += gridDim.x) {
    const float* const y = in.y + n * in.classes;
    const std::int64_t label = in.labels[n];
    float* const dy = gradient + n * in.classes;
    if (label < 0) {  // no label
      for (std::int64_t c = threadIdx.x; c < in.classes; c += kBlock) dy[c] = 0;
      continue;
    }
    const double normaliser = look_at(y, in.classes, label, shared).normaliser;
    for (std::int64_t c = threadIdx.x; c < in.classes; c += kBlock) {
      const double softmax = exp(y[c] - normaliser);
      dy[c] = static_cast<float>(scale * (softmax - (c == label ? in.own : 0.0) - in.spread));
    }
  }
}

__device__ double difference(const MseInput& in, std::int64_t i) {
  return double{in.y[i]} - in.targets[i];
}

__global__ void mse_kernel(MseInput in, Sums* partials) {
  __shared__ Sums shared[kBlock];
  Sums sums{0, 0};
  for (std::int64_t i = first_index(); i < in.samples * in.elements; i += index_step())
    sums.a += difference(in, i) * difference(in, i);
  sums = sum_block(sums, shared);
  if (threadIdx.x == 0) partials[blockIdx.x] = sums;
}

__global__ void mse_gradient_kernel(MseInput in, double factor, float* gradient) {
  for (std::int64_t i = first_index(); i < in.samples * in.elements; i += index_step())
    gradient[i] = static_cast<float>(factor * difference(in, i));
}

// By one block. Adds the sum of `partials` to the result, the loss divided by `divisor`.
__global__ void add_to_result_kernel(const Sums* partials, std::int64_t count, double divisor,
                                     LossSums result) {
  __shared__ Sums shared[kBlock];
  Sums sums{0, 0};
  for (std::int64_t i = threadIdx.x; i < count; i += kBlock) sums = sums + partials[i];
  sums = sum_block(sums, shared);
  if (threadIdx.x != 0) return;
  *result.sum += sums.a / divisor;
  const auto top5 = static_cast<std::int64_t>(sums.b / kTop5);
  *result.correct += static_cast<std::int64_t>(sums.b - static_cast<double>(top5) * kTop5);
  *result.correct_top5 += top5;
}

std::int64_t mse_blocks(const MseInput& in) {
  return std::min((in.samples * in.elements + kBlock - 1) / kBlock, kMseBlocks);
}

}  // namespace

std::size_t cross_entropy_partials_bytes(std::int64_t samples) { return bytes_of<Sums>(samples); }

void cross_entropy(cudaStream_t stream, const CrossEntropyInput& in, void* partials,
                   const LossSums& result) {
  auto* const sums = static_cast<Sums*>(partials);
  launch(cross_entropy_kernel, std::min(in.samples, kGrid), kBlock, stream, in, sums);
  launch(add_to_result_kernel, 1, kBlock, stream, sums, in.samples, 1.0, result);
}

void cross_entropy_gradient(cudaStream_t stream, const CrossEntropyInput& in, double scale,
                            float* gradient) {
  launch(cross_entropy_gradient_kernel, std::min(in.samples, kGrid), kBlock, stream, in, scale,
         gradient);
}

std::size_t mse_partials_bytes(const MseInput& in) { return bytes_of<Sums>(mse_blocks(in)); }

void mse(cudaStream_t stream, const MseInput& in, void* partials, const LossSums& result) {
  auto* const sums = static_cast<Sums*>(partials);
  launch(mse_kernel, mse_blocks(in), kBlock, stream, in, sums);
  launch(add_to_result_kernel, 1, kBlock, stream, sums, mse_blocks(in),
         static_cast<double>(in.elements), result);
}

void mse_gradient(cudaStream_t stream, const MseInput& in, double scale, float* gradient) {
  launch(mse_gradient_kernel, blocks_for(in.samples * in.elements), kBlock, stream, in,
         2 * scale / static_cast<double>(in.elements), gradient);
}

}  // namespace pipetrain::cuda
