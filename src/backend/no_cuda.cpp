// Stands in for src/backend/cuda in a build without CUDA.
#include "backend/cuda/cuda_backend.hpp"
#include "backend/cuda/peak.hpp"
#include "backend/cuda_info.hpp"
#include "base/error.hpp"

namespace pipetrain {

std::unique_ptr<Backend> make_cuda_backend(std::span<const std::string>) {
  throw DeviceError(
      "backend \"cuda\" is not built into this binary; build it with -Dcuda=enabled where the CUDA "
      "toolkit, cuDNN and cuBLASLt are, or write backend = \"cpu\"");
}

double measured_cuda_peak_gflops(std::span<const std::string>) {
  throw DeviceError("the peak of a CUDA device is not measured by a binary without CUDA");
}

std::vector<LibraryVersion> cuda_versions() { return {}; }

CudaDevices cuda_devices() { return {{}, "CUDA is not built into this binary"}; }

}  // namespace pipetrain
