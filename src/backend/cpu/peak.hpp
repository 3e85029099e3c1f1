// The peak that shares are relative to: what oneDNN reaches on this machine on one large matmul.
#pragma once

namespace pipetrain {

// GFLOP/s in f32 with a team of `threads`; takes about half a second. The team ends with the call:
// one that stays, asleep, counts as a team of its own to OpenMP, which then lets every team sleep
// at once where it waits, and each kernel waits for its threads to wake.
double measured_peak_gflops(int threads);

}  // namespace pipetrain
