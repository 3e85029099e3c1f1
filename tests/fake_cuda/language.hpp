// What lets a .cu file compile as plain C++ (g++ -x c++ -DPIPETRAIN_FAKE_CUDA) and run on the CPU:
// the words of CUDA's language that our device code uses. Included by backend/cuda/launch.hpp.
//
// One block runs at a time, its threads as fibers of one host thread (language.cpp). They begin,
// and continue after each __syncthreads(), in a random order; memory that they share is garbage at
// first. So a missing __syncthreads() shows in the results.
#pragma once

#include <cuda_runtime_api.h>

#include <cmath>
#include <functional>
#include <source_location>

#undef __shared__
#ifdef __SANITIZE_ADDRESS__  // which guards only arrays outside named sections
#define __shared__ static
#else
#define __shared__ static __attribute__((section("fake_cuda_shared")))
#endif

inline uint3 threadIdx{}, blockIdx{};
inline dim3 blockDim, gridDim;

namespace fake_cuda {

// Asks the stream for a grid of `blocks` blocks of `threads` threads, each of which calls `thread`.
void launch(cudaStream_t stream, const char* what, int blocks, int threads,
            std::function<void()> thread);

// Runs such a grid at once. Throws std::logic_error if a barrier is not reached by all threads of a
// block, or two of them wait at different ones.
void run_grid(const char* what, int blocks, int threads, const std::function<void()>& thread);

void shuffle_threads(unsigned seed);  // the order in which threads run from here on

void barrier(const std::source_location& where);

}  // namespace fake_cuda

inline void __syncthreads(const std::source_location& where = std::source_location::current()) {
  fake_cuda::barrier(where);
}
