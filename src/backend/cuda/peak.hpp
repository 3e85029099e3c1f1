// The peak that shares are relative to: what cuBLASLt reaches on the devices with one large matrix
// product. Includes no CUDA header.
#pragma once

#include <span>
#include <string>

namespace pipetrain {

// GFLOP/s in f32, of all the devices together (names as in hardware.devices; empty: the first
// device). Takes a fraction of a second and 200 MB of memory on each.
double measured_cuda_peak_gflops(std::span<const std::string> devices);

}  // namespace pipetrain
