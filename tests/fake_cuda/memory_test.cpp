// Blocks of memory: what must not be touched, and how much there is.
#include <cmath>

#include "fake_cuda/test_device.hpp"
#include "fake_cuda/test_kernels.hpp"

using namespace fake_cuda_test;

TEST_CASE("memory that is freed while a stream still has to use it is found", "[fake_cuda]") {
  fake_cuda::set({});
  const cudaStream_t a = make_stream();
  float *const x = make_floats(4), *const y = make_floats(4);
  write(a, x, {1, 2, 3, 4});
  CHECK(cudaStreamSynchronize(a) == cudaSuccess);
  CHECK(cudaMemcpyAsync(y, x, 16, cudaMemcpyDeviceToDevice, a) == cudaSuccess);
  CHECK(cudaFree(x) == cudaSuccess);
  CHECK(std::isnan(read(a, y, 4)[2]));
  CHECK_THAT(findings(), Contains("freed memory"));
}

TEST_CASE("memory runs out, and freed memory can be allocated again", "[fake_cuda]") {
  fake_cuda::set({.device_bytes = 1000});
  void *a = nullptr, *b = nullptr;
  CHECK(cudaMalloc(&a, 600) == cudaSuccess);
  CHECK(cudaMalloc(&b, 600) == cudaErrorMemoryAllocation);
  CHECK(cudaSetDevice(1) == cudaSuccess);
  CHECK(cudaMalloc(&b, 600) == cudaSuccess);
  CHECK(fake_cuda::device_bytes_in_use(0) == 600);
  CHECK(cudaFree(a) == cudaSuccess);
  CHECK(cudaFree(b) == cudaSuccess);
  std::size_t free = 0, total = 0;
  CHECK(cudaMemGetInfo(&free, &total) == cudaSuccess);
  CHECK(free == 1000);
  CHECK(cudaFree(b) == cudaErrorInvalidValue);
  CHECK_THAT(findings(), Contains("freed twice"));
}

TEST_CASE("a stream of one device and memory of another", "[fake_cuda]") {
  fake_cuda::set({});
  float* const x = make_floats(2);
  const cudaStream_t zero = make_stream();
  write(zero, x, {1, 2});
  CHECK(cudaStreamSynchronize(zero) == cudaSuccess);
  CHECK(cudaSetDevice(1) == cudaSuccess);
  float* const y = make_floats(2);
  const cudaStream_t one = make_stream();
  CHECK(cudaMemcpyPeerAsync(y, 1, x, 0, 8, one) == cudaSuccess);
  CHECK(read(one, y, 2)[1] == 2);
  CHECK(findings() == "");
  CHECK(cudaMemcpyPeerAsync(y, 0, x, 0, 8, one) == cudaErrorInvalidValue);
#ifndef KERNELS_UNWATCHED
  affine(one, x, y, 1, 2);
  CHECK(cudaStreamSynchronize(one) == cudaSuccess);
  CHECK_THAT(findings(), Contains("without peer access"));
#endif
  CHECK(cudaDeviceEnablePeerAccess(0, 0) == cudaSuccess);
  affine(one, x, y, 1, 2);
  CHECK(cudaStreamSynchronize(one) == cudaSuccess);
  CHECK(findings() == "");
  CHECK(cudaGetLastError() == cudaErrorInvalidValue);
  affine(zero, x, x, 1, 2);
  CHECK(cudaGetLastError() == cudaErrorInvalidResourceHandle);
}

#ifndef KERNELS_UNWATCHED
TEST_CASE("a kernel's own mistakes", "[fake_cuda]") {
  fake_cuda::set({});
  const cudaStream_t stream = make_stream();
  float *const x = make_floats(64), *const y = make_floats(1);
  write(stream, x, std::vector<float>(64, 1));
  sum(stream, x, y, 64);
  CHECK(read(stream, y, 1)[0] == 64);
  CHECK(findings() == "");

  const auto of = [&](auto kernel) {
    kernel();
    CHECK(cudaStreamSynchronize(stream) == cudaSuccess);
    return findings();
  };
  CHECK_THAT(of([&] { past_the_end(stream, x, 64); }), Contains("no block holds"));
  CHECK_THAT(of([&] { all_write_one(stream, y); }), Contains("two threads of"));
  CHECK_THAT(of([&] { blocks_write_one(stream, y); }), Contains("two threads of"));
  CHECK_THAT(of([&] { missing_sync(stream, x); }), Contains("shared memory"));
}

TEST_CASE("a kernel that reads memory that was not written is found", "[fake_cuda]") {
  fake_cuda::set({});
  const cudaStream_t stream = make_stream();
  float *const x = make_floats(4), *const y = make_floats(4);
  affine(stream, x, y, 1, 4);
  CHECK(cudaStreamSynchronize(stream) == cudaSuccess);
  CHECK_THAT(findings(), Contains("nobody has written"));
}
#endif
