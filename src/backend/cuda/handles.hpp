// RAII for the libraries' handles and descriptors: made in the constructor, released in the
// destructor. Descriptors are in host memory and belong to no device.
#pragma once

#include <utility>

#include "backend/cuda/errors.hpp"

namespace pipetrain::cuda {

template <class T, auto create, auto destroy>
class Handle {
 public:
  template <class... Arguments>
  explicit Handle(Arguments... arguments) {
    check(create(&handle_, arguments...), "make what its calls need (a handle)");
  }
  ~Handle() {
    if (handle_) forget(destroy(handle_));
  }
  Handle(Handle&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  Handle& operator=(Handle&& other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;

  T get() const { return handle_; }

 private:
  T handle_ = nullptr;
};

// ---- belong to the current device: make, use and destroy them while it is current
inline int make_current(int device) {
  check(cudaSetDevice(device), "use the device");
  return device;
}
using Cudnn = Handle<cudnnHandle_t, cudnnCreate, cudnnDestroy>;
using CublasLt = Handle<cublasLtHandle_t, cublasLtCreate, cublasLtDestroy>;
using CudaStream = Handle<cudaStream_t, cudaStreamCreateWithFlags, cudaStreamDestroy>;
using CudaEvent = Handle<cudaEvent_t, cudaEventCreateWithFlags, cudaEventDestroy>;
using DeviceMemory = Handle<void*, cudaMalloc, cudaFree>;

// Has the device done all work before the event? True for an event that was never recorded.
inline bool has_passed(const CudaEvent& event) {
  const cudaError_t status = cudaEventQuery(event.get());
  if (status == cudaErrorNotReady) {
    forget(status);  // an answer, not a failure
    return false;
  }
  check(status, "ask how far the device is");
  return true;
}

// ---- descriptors
using TensorDescriptor =
    Handle<cudnnTensorDescriptor_t, cudnnCreateTensorDescriptor, cudnnDestroyTensorDescriptor>;
using FilterDescriptor =
    Handle<cudnnFilterDescriptor_t, cudnnCreateFilterDescriptor, cudnnDestroyFilterDescriptor>;
using ConvolutionDescriptor = Handle<cudnnConvolutionDescriptor_t, cudnnCreateConvolutionDescriptor,
                                     cudnnDestroyConvolutionDescriptor>;
using MatmulDescriptor =
    Handle<cublasLtMatmulDesc_t, cublasLtMatmulDescCreate, cublasLtMatmulDescDestroy>;
using MatrixLayout =
    Handle<cublasLtMatrixLayout_t, cublasLtMatrixLayoutCreate, cublasLtMatrixLayoutDestroy>;
using MatmulPreference = Handle<cublasLtMatmulPreference_t, cublasLtMatmulPreferenceCreate,
                                cublasLtMatmulPreferenceDestroy>;

}  // namespace pipetrain::cuda
