// The peak that shares are told of: what this machine's kernels reach on one large matmul.
#pragma once

#include <string_view>

namespace pipetrain {

// GFLOP/s in f32, on every core; takes about half a second.
double measured_peak_gflops(std::string_view backend);

}  // namespace pipetrain
