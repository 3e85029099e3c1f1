// The kernels of test_kernels.hpp; compiled as device code is.
#include "fake_cuda/test_kernels.hpp"

#include "fake_cuda/language.hpp"

namespace fake_cuda_test {
namespace {

constexpr int threads = 32;

void affine_kernel(const float* from, float* to, float factor, int count) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < count) to[i] = from[i] * factor + static_cast<float>(i);
}

void sum_kernel(const float* from, float* to, int count) {
  __shared__ float parts[64];
  const int i = static_cast<int>(threadIdx.x);
  parts[i] = i < count ? from[i] : 0;
  __syncthreads();
  if (i > 0) return;
  float sum = 0;
  for (int other = 0; other < count; ++other) sum += parts[other];
  *to = sum;
}

void missing_sync_kernel(float* to) {
  __shared__ float parts[64];
  parts[threadIdx.x] = 1;
  to[threadIdx.x] = parts[threadIdx.x ^ 1];
}

}  // namespace

void affine(cudaStream_t stream, const float* from, float* to, float factor, int count) {
  fake_cuda::launch(stream, "affine", (count + threads - 1) / threads, threads,
                    [=] { affine_kernel(from, to, factor, count); });
}

void sum(cudaStream_t stream, const float* from, float* to, int count) {
  fake_cuda::launch(stream, "sum", 1, 64, [=] { sum_kernel(from, to, count); });
}

void past_the_end(cudaStream_t stream, float* to, int count) {
  fake_cuda::launch(stream, "past_the_end", 1, count + 1, [=] { to[threadIdx.x] = 1; });
}

void all_write_one(cudaStream_t stream, float* to) {
  fake_cuda::launch(stream, "all_write_one", 1, 2, [=] { *to = 1; });
}

void blocks_write_one(cudaStream_t stream, float* to) {
  fake_cuda::launch(stream, "blocks_write_one", 2, 1, [=] { *to = 1; });
}

void missing_sync(cudaStream_t stream, float* to) {
  fake_cuda::launch(stream, "missing_sync", 1, 64, [=] { missing_sync_kernel(to); });
}

}  // namespace fake_cuda_test
