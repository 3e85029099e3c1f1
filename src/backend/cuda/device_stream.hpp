// A stage's stream on one GPU: a CUDA stream, and the library handles that work on it.
#pragma once

#include <cublasLt.h>
#include <cuda_runtime_api.h>
#include <cudnn.h>

#include <memory>
#include <vector>

#include "backend/stream.hpp"

namespace pipetrain::cuda {

class DeviceStream final : public Stream {
 public:
  explicit DeviceStream(int device);
  ~DeviceStream() override;

  bool asynchronous() const override { return true; }
  int device() const override { return device_; }
  void* allocate(std::size_t bytes) override;
  void release(void* memory) noexcept override;
  void* allocate_results(std::size_t bytes) override;
  void release_results(void* memory) noexcept override;
  void apply(const UpdateRule& rule, const UpdateArguments& arguments) override;
  void combine(const Combination& combination) override;
  void add_up(const Summation& summation) override;
  void sum_of_squares(const float* values, std::int64_t elements, double* result) override;
  void clear(void* memory, std::size_t bytes) override;
  void copy(void* to, const void* from, std::size_t bytes) override;
  void write(void* to, const void* host, std::size_t bytes) override;
  void read(void* host, const void* from, std::size_t bytes) override;
  std::unique_ptr<Fence> make_fence() override;
  void record(Fence& fence) override;
  void wait(const Fence& fence) override;
  double seconds_between(const Fence& begin, const Fence& end) const override;
  void finish() override;

  cudaStream_t handle() const { return stream_; }  // the calling thread's device is made this one's
  cudnnHandle_t cudnn() const { return cudnn_; }   // bound to the stream
  cublasLtHandle_t cublas_lt() const { return cublas_lt_; }

 private:
  int device_;
  cudaStream_t stream_ = nullptr;
  cudnnHandle_t cudnn_ = nullptr;
  cublasLtHandle_t cublas_lt_ = nullptr;
};

}  // namespace pipetrain::cuda
