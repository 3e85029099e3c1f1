// GPUs: cuDNN's convolutions, cuBLASLt's products and our own kernels for the rest, f32 throughout.
// No CUDA header behind this one: it is there in every build, and no_cuda.cpp answers where CUDA
// was not built in.
#pragma once

#include <memory>
#include <span>
#include <string>

#include "backend/backend.hpp"

namespace pipetrain {

// Names as hardware.devices has them, "cuda:0"; none: the first device. Worker w of n works on
// number w * devices / n. UsageError for a name that is none; DeviceError, one sentence, for a
// build or a machine without CUDA and for devices that are not there.
std::unique_ptr<Backend> make_cuda_backend(std::span<const std::string> devices);

}  // namespace pipetrain
