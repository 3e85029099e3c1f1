// One wrapper for all calls of CUDA libraries: every status other than success becomes a
// DeviceError that says what was tried, for which layer, and what to do.
#pragma once

#include <cublasLt.h>
#include <cuda_runtime_api.h>
#include <cudnn.h>

#include <string>
#include <string_view>

namespace pipetrain::cuda {

// What a library's status means, the library's name, and what to do about it.
struct Failure {
  std::string_view library;
  std::string reason;
  std::string_view advice;
};
Failure failure(cudaError_t status);  // also clears CUDA's last error on this thread
Failure failure(cudnnStatus_t status);
Failure failure(cublasStatus_t status);

// `layer` may be empty; `what` continues "cannot": "copy to the device".
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

// For failures that are not reported, as in destructors: also keeps CUDA's later calls from
// reporting them.
template <class Status>
void forget(Status status) noexcept {
  if (status != Status{}) cudaGetLastError();
}

}  // namespace pipetrain::cuda
