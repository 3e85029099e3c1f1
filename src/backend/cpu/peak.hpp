// The peak that shares are relative to: what oneDNN reaches on this machine with one large matrix
// product.
#pragma once

namespace pipetrain {

// GFLOP/s in f32 with a team of `threads`; takes about half a second. The team ends with the call:
// if it stayed, asleep, OpenMP would count it as a team of its own and then let every team sleep as
// soon as it waits, and each kernel would wait for its threads to wake.
double measured_peak_gflops(int threads);

}  // namespace pipetrain
