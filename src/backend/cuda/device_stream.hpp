// A stage's stream on one GPU: a CUDA stream, and the library handles that work on it.
#pragma once

#include <memory>
#include <optional>

#include "backend/cuda/handles.hpp"
#include "backend/cuda/staging.hpp"
#include "backend/stream.hpp"

namespace pipetrain::cuda {

class DeviceStream final : public Stream {
 public:
  explicit DeviceStream(int device);
  ~DeviceStream() override;

  bool asynchronous() const override { return true; }
  int device() const override { return device_; }
  bool reaches(const Stream& other) const override;
  void* native_handle() const override { return handle(); }
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
  void copy_rows(const RowCopy& rows) override;
  void write(void* to, const void* host, std::size_t bytes) override;
  void read(void* host, const void* from, std::size_t bytes) override;
  std::unique_ptr<Fence> make_fence() override;
  std::unique_ptr<Fence> make_timed_fence() override;
  void record(Fence& fence) override;
  void wait(const Fence& fence) override;
  double seconds_between(const Fence& begin, const Fence& end) const override;
  void finish() override;

  // Each of these makes the stream's device current in the calling thread: one thread may serve
  // several streams, and several threads may serve one stream, one at a time.
  cudaStream_t handle() const;
  cudnnHandle_t cudnn();  // bound to the stream
  cublasLtHandle_t cublas_lt();
  // kPartialSumsMax (reduce.hpp) doubles in device memory, for sums on this stream only.
  double* partial_sums() const { return static_cast<double*>(partial_sums_.get()); }

 private:
  int device_;
  CudaStream stream_;
  std::optional<Cudnn> cudnn_;         // made when first asked for: streams that only copy
  std::optional<CublasLt> cublas_lt_;  // need neither
  DeviceMemory partial_sums_;
  Staging staging_;
};

}  // namespace pipetrain::cuda
