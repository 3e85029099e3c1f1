// The peak that shares are relative to: what cuBLASLt reaches on the devices on one large product.
// No CUDA header behind this one.
#pragma once

#include <span>
#include <string>

namespace pipetrain {

// GFLOP/s in f32, of all the devices together (names as hardware.devices has them; none: the first
// device). Takes a fraction of a second each, and 200 MB of their memory.
double measured_cuda_peak_gflops(std::span<const std::string> devices);

}  // namespace pipetrain
