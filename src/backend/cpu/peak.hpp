// The peak that shares are told of: what oneDNN reaches on this machine on one large matmul.
#pragma once

namespace pipetrain {

// GFLOP/s in f32, with the kernel threads of the calling thread; takes about half a second.
double measured_peak_gflops();

}  // namespace pipetrain
