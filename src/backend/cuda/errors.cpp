#include "backend/cuda/errors.hpp"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <array>

#include "backend/cuda/device/launch.hpp"
#include "base/error.hpp"

namespace pipetrain::cuda {
namespace {

static_assert(cudaSuccess == 0 && CUDNN_STATUS_SUCCESS == 0 && CUBLAS_STATUS_SUCCESS == 0);

// What cuDNN adds to its last status on this thread, as the end of a sentence; usually empty.
std::string last_words_of_cudnn() {
  std::array<char, 512> text{};
  cudnnGetLastErrorString(text.data(), text.size() - 1);
  std::replace(text.begin(), text.end(), '\n', ' ');
  return text[0] ? fmt::format(": {}", text.data()) : "";
}

}  // namespace

// A device works asynchronously: the failure may belong to earlier work. With
// CUDA_LAUNCH_BLOCKING=1, which the driver reads, the call that fails is the one that reports it.
Failure failure(cudaError_t status) {
  forget(status);
  return {
      "CUDA", fmt::format("{} ({})", cudaGetErrorString(status), cudaGetErrorName(status)),
      status == cudaErrorMemoryAllocation
          ? "use smaller micro-batches, more stages or a smaller model"
          : "run again with CUDA_LAUNCH_BLOCKING=1 in the environment to see which call failed"};
}
Failure failure(cudnnStatus_t status) {
  return {"cuDNN",
          fmt::format("{} (status {}){}", cudnnGetErrorString(status), static_cast<int>(status),
                      last_words_of_cudnn()),
          "try smaller micro-batches"};
}
Failure failure(cublasStatus_t status) {
  return {"cuBLASLt",
          fmt::format("{} (status {})", cublasLtGetStatusString(status), static_cast<int>(status)),
          "try smaller micro-batches"};
}

void throw_device_error(std::string_view layer, std::string_view what, const Failure& failure) {
  const std::string where = layer.empty() ? "" : fmt::format("layer \"{}\": ", layer);
  throw DeviceError(fmt::format("{}{} cannot {}: {}; {}, or write backend = \"cpu\"", where,
                                failure.library, what, failure.reason, failure.advice));
}

void check_launch(cudaError_t error, const char* launched) {
  if (error != cudaSuccess)
    throw_device_error({}, fmt::format("start the kernel of {}", launched), failure(error));
}

}  // namespace pipetrain::cuda
