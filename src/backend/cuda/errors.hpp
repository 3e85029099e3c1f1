// The calls of the CUDA libraries behind one wrapper: every status that is not success becomes a
// DeviceError that says what was tried, for which layer, and what to do.
#pragma once

#include <cublasLt.h>
#include <cuda_runtime_api.h>
#include <cudnn.h>

#include <string>
#include <string_view>

namespace pipetrain::cuda {

// What a library's status says, the library's name, and what to do about it.
struct Failure {
  std::string_view library;
  std::string reason;
  std::string_view advice;
};
Failure failure(cudaError_t status);  // CUDA's next calls on this thread will not tell of it again
Failure failure(cudnnStatus_t status);
Failure failure(cublasStatus_t status);

// `layer` may be empty; `what` reads on from "cannot": "copy to the device".
[[noreturn]] void throw_device_error(std::string_view layer, std::string_view what,
                                     const Failure& failure);

template <class Status>
void check(Status status, std::string_view layer, std::string_view what) {
  if (status != Status{}) throw_device_error(layer, what, failure(status));  // success is 0
}
template <class Status>
void check(Status status, std::string_view what) {
  check(status, {}, what);
}

// For what is not reported, as where something is given back: nor shall CUDA's next calls tell of
// it.
template <class Status>
void forget(Status status) noexcept {
  if (status != Status{}) cudaGetLastError();
}

}  // namespace pipetrain::cuda
