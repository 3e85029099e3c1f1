// Failures on command: every call can be made to fail, once or from then on.
#include "fake_cuda/test_device.hpp"
#include "fake_cuda/test_kernels.hpp"

using namespace fake_cuda_test;

namespace {

struct Failure {
  bool any = false;
  cudaError_t error = cudaSuccess;
  void add(cudaError_t status) {
    if (status == cudaSuccess || any) return;
    any = true;
    error = status;
  }
};

Failure run() {
  Failure failure;
  cudaStream_t stream = nullptr;
  cudaEvent_t event = nullptr;
  void* memory = nullptr;
  failure.add(cudaSetDevice(1));
  if (!failure.any) failure.add(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  if (!failure.any) failure.add(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
  if (!failure.any) failure.add(cudaMalloc(&memory, 64));
  if (!failure.any) failure.add(cudaMemsetAsync(memory, 0, 64, stream));
  if (!failure.any) {
    affine(stream, static_cast<float*>(memory), static_cast<float*>(memory), 1, 16);
    failure.add(cudaGetLastError());
  }
  if (!failure.any) failure.add(cudaEventRecord(event, stream));
  if (!failure.any) failure.add(cudaStreamWaitEvent(stream, event, 0));
  if (!failure.any) failure.add(cudaStreamSynchronize(stream));
  if (event) CHECK(cudaEventDestroy(event) == cudaSuccess);
  if (stream) CHECK(cudaStreamDestroy(stream) == cudaSuccess);
  return failure;
}

}  // namespace

TEST_CASE("each call can be made to fail", "[fake_cuda]") {
  fake_cuda::set({});
  CHECK(!run().any);
  const std::int64_t calls = fake_cuda::calls();
  CHECK(calls == 9);
  for (std::int64_t n = 1; n <= calls; ++n) {
    fake_cuda::set({});
    fake_cuda::fail_call(n);
    const Failure failure = run();
    CHECK(failure.any);
    CHECK(fake_cuda::call_failed());
    if (n == 4) CHECK(failure.error == cudaErrorMemoryAllocation);
    if (n == 6) CHECK(failure.error == cudaErrorLaunchFailure);
  }
  fake_cuda::set({});
  fake_cuda::fail_call(calls + 1);
  CHECK(!run().any);
  CHECK(!fake_cuda::call_failed());
}

TEST_CASE("a failure may stay", "[fake_cuda]") {
  fake_cuda::set({});
  const cudaStream_t stream = make_stream();
  fake_cuda::fail_call(2, true);
  CHECK(cudaStreamSynchronize(stream) == cudaSuccess);
  CHECK(cudaStreamSynchronize(stream) != cudaSuccess);
  CHECK(cudaStreamSynchronize(stream) != cudaSuccess);
}
