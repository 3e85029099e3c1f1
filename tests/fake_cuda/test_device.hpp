// What the fake's own tests do over and over: streams, memory and copies that are checked.
#pragma once

#include <cuda_runtime_api.h>

#include <string>
#include <vector>

#include "catch.hpp"
#include "fake_cuda/runtime.hpp"

// Real sanitizers take the place of the check of kernels' own accesses.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define KERNELS_UNWATCHED
#endif

namespace fake_cuda_test {

inline cudaStream_t make_stream() {
  cudaStream_t stream = nullptr;
  REQUIRE(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking) == cudaSuccess);
  return stream;
}

inline cudaEvent_t make_event(unsigned flags = cudaEventDisableTiming) {
  cudaEvent_t event = nullptr;
  REQUIRE(cudaEventCreateWithFlags(&event, flags) == cudaSuccess);
  return event;
}

inline float* make_floats(int count) {
  void* memory = nullptr;
  REQUIRE(cudaMalloc(&memory, static_cast<std::size_t>(count) * sizeof(float)) == cudaSuccess);
  return static_cast<float*>(memory);
}

inline float* make_pinned(int count) {
  void* memory = nullptr;
  REQUIRE(cudaHostAlloc(&memory, static_cast<std::size_t>(count) * sizeof(float),
                        cudaHostAllocDefault) == cudaSuccess);
  return static_cast<float*>(memory);
}

inline void write(cudaStream_t stream, float* to, const std::vector<float>& from) {
  REQUIRE(cudaMemcpyAsync(to, from.data(), from.size() * sizeof(float), cudaMemcpyHostToDevice,
                          stream) == cudaSuccess);
}

inline std::vector<float> read(cudaStream_t stream, const float* from, int count) {
  std::vector<float> values(static_cast<std::size_t>(count));
  REQUIRE(cudaMemcpyAsync(values.data(), from, values.size() * sizeof(float),
                          cudaMemcpyDeviceToHost, stream) == cudaSuccess);
  return values;
}

// `stream` continues after all of `before`.
inline void order(cudaStream_t before, cudaStream_t stream) {
  const cudaEvent_t event = make_event();
  REQUIRE(cudaEventRecord(event, before) == cudaSuccess);
  REQUIRE(cudaStreamWaitEvent(stream, event, 0) == cudaSuccess);
  REQUIRE(cudaEventDestroy(event) == cudaSuccess);
}

inline std::string findings() {
  std::string text;
  for (const std::string& finding : fake_cuda::take_findings()) text += finding + "\n";
  return text;
}

}  // namespace fake_cuda_test
