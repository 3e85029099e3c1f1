// The CUDA libraries' versions and the devices, for `pipetrain devices` and `--build-info`.
#include <spdlog/fmt/fmt.h>

#include "backend/cuda/devices.hpp"
#include "backend/cuda/errors.hpp"
#include "backend/cuda_info.hpp"
#include "base/error.hpp"

namespace pipetrain {
namespace {

std::string version_text(std::size_t version) {  // 91900 is 9.19.0
  return fmt::format("{}.{}.{}", version / 10000, version / 100 % 100, version % 100);
}

std::string cudnn_version() {
  const std::size_t found = cudnnGetVersion(), compiled = CUDNN_VERSION;
  if (found == compiled) return version_text(found);
  return fmt::format("{} (compiled for {})", version_text(found), version_text(compiled));
}

std::string cuda_version(int version) {  // 13000 is 13.0
  return fmt::format("{}.{}", version / 1000, version / 10 % 100);
}

std::string driver_version() {
  int version = 0;
  if (cudaDriverGetVersion(&version) != cudaSuccess || version == 0) return "none";
  return fmt::format("CUDA {}", cuda_version(version));
}

CudaDevice describe(int index) {
  cudaDeviceProp properties{};
  cuda::check(cudaGetDeviceProperties(&properties, index), "ask what a device is");
  return {.name = properties.name,
          .index = index,
          .memory_bytes = properties.totalGlobalMem,
          .major = properties.major,
          .minor = properties.minor};
}

}  // namespace

std::vector<LibraryVersion> cuda_versions() {
  return {{"cuda", cuda_version(CUDART_VERSION)},
          {"cuda_driver", driver_version()},
          {"cudnn", cudnn_version()},
          {"cublaslt", version_text(CUBLAS_VERSION)}};  // asking would load it
}

CudaDevices cuda_devices() {
  try {
    CudaDevices found;
    const int count = cuda::count_devices();
    for (int index = 0; index < count; ++index) found.devices.push_back(describe(index));
    return found;
  } catch (const Error& error) {
    return {{}, error.what()};
  }
}

}  // namespace pipetrain
