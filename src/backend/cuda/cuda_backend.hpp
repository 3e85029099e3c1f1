// GPUs: cuDNN's convolutions, cuBLASLt's matrix products and our own kernels for the rest, f32
// throughout. Includes no CUDA header: every build has this one, and no_cuda.cpp implements it in a
// build without CUDA.
#pragma once

#include <memory>
#include <span>
#include <string>

#include "backend/backend.hpp"

namespace pipetrain {

// `devices`: names as in hardware.devices, "cuda:0"; empty: the first device. Worker w of n uses
// device number w * devices / n of the list. UsageError for a malformed name; DeviceError, one
// sentence, for a build or a machine without CUDA and for devices that do not exist.
std::unique_ptr<Backend> make_cuda_backend(std::span<const std::string> devices);

}  // namespace pipetrain
