// The CUDA of this build and this machine, for `pipetrain devices` and `--build-info`. Includes no
// CUDA header: every build has this one, and no_cuda.cpp implements it without CUDA.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace pipetrain {

struct LibraryVersion {
  std::string name, version;
};

// Versions of "cuda" (the toolkit compiled with), "cuda_driver" ("none" if there is none), "cudnn",
// "cublaslt" and "nccl", as far as they are built in; empty without CUDA. Never throws.
std::vector<LibraryVersion> cuda_versions();

struct CudaDevice {
  std::string name;
  int index = 0;  // "cuda:<index>" of hardware.devices
  std::size_t memory_bytes = 0;
  int major = 0, minor = 0;  // compute capability
};

struct CudaDevices {
  std::vector<CudaDevice> devices;
  std::string why_none;  // if there are none: one sentence, without a full stop
};

CudaDevices cuda_devices();  // never throws

}  // namespace pipetrain
