// A stream and memory of a device, for tests of device code: on a GPU, or on tests/fake_cuda.
#pragma once

#include <cuda_runtime_api.h>

#include <stdexcept>
#include <string>
#include <vector>

#include "../../catch.hpp"

namespace pipetrain::testing {

inline void must(cudaError_t error) {
  if (error != cudaSuccess) throw std::runtime_error(cudaGetErrorString(error));
}

// Without one, the test is skipped.
inline bool has_device() {
  int count = 0;
  const bool found = cudaGetDeviceCount(&count) == cudaSuccess && count > 0;
  if (!found) WARN("skipped: there is no GPU");
  return found;
}

struct TestStream {
  cudaStream_t handle = nullptr;
  TestStream() { must(cudaStreamCreateWithFlags(&handle, cudaStreamNonBlocking)); }
  ~TestStream() { cudaStreamDestroy(handle); }
  TestStream(const TestStream&) = delete;
  TestStream& operator=(const TestStream&) = delete;
};

// Values that are on the device.
template <class Value>
class OnDevice {
 public:
  OnDevice(const TestStream& stream, const std::vector<Value>& values)
      : stream_(stream), count_(values.size()) {
    must(cudaMalloc(&memory_, bytes() + 1));  // some memory, even for no values
    must(cudaMemcpyAsync(memory_, values.data(), bytes(), cudaMemcpyHostToDevice, stream_.handle));
    must(cudaStreamSynchronize(stream_.handle));
  }
  ~OnDevice() { cudaFree(memory_); }
  OnDevice(const OnDevice&) = delete;
  OnDevice& operator=(const OnDevice&) = delete;

  Value* get() const { return static_cast<Value*>(memory_); }
  std::vector<Value> read() const {  // after all that was asked of the stream is done
    std::vector<Value> values(count_);
    must(cudaMemcpyAsync(values.data(), memory_, bytes(), cudaMemcpyDeviceToHost, stream_.handle));
    must(cudaStreamSynchronize(stream_.handle));
    return values;
  }

 private:
  std::size_t bytes() const { return count_ * sizeof(Value); }

  const TestStream& stream_;
  std::size_t count_;
  void* memory_ = nullptr;
};

}  // namespace pipetrain::testing
