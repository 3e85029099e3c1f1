// How a .cu file launches its kernels. Under nvcc that is <<<...>>>. If the file is compiled as
// plain C++ for tests (PIPETRAIN_FAKE_CUDA), the launch goes to tests/fake_cuda, which runs it
// later on the CPU. So device code uses only what both understand: static __shared__ arrays (not in
// templates), __syncthreads(), and plain C++.
#pragma once

#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstdint>
#include <source_location>
#include <type_traits>

#ifndef __CUDACC__
#ifdef PIPETRAIN_FAKE_CUDA
#include <fake_cuda/language.hpp>  // in tests/: makes these kernels C++
#endif
#endif

// Before a loop with a constant count: unrolls it, so that arrays indexed in it stay in registers.
#ifdef __CUDACC__
#define PIPETRAIN_UNROLL _Pragma("unroll")
#else
#define PIPETRAIN_UNROLL
#endif

namespace pipetrain::cuda {

inline constexpr int kBlock = 256;           // threads per block
inline constexpr std::int64_t kGrid = 2048;  // blocks at most: enough to fill any device, few
                                             // enough that a thread's set-up costs little

// A number of blocks; 0 launches nothing. Remembers the function that launches it, for messages.
struct Grid {
  std::int64_t blocks;
  std::source_location where;
  Grid(std::int64_t count, std::source_location at = std::source_location::current())
      : blocks(count), where(at) {}
};

// Blocks for one thread per item; with many items, each thread takes several (device_code.hpp).
inline std::int64_t blocks_for(std::int64_t items) {
  return std::min((items + kBlock - 1) / kBlock, kGrid);
}

// DeviceError if a launch failed. `launched`: the function that did it. Defined in errors.cpp.
void check_launch(cudaError_t error, const char* launched);

#if defined(__CUDACC__) || defined(PIPETRAIN_FAKE_CUDA)
template <class... Parameters>
void launch(void (*kernel)(Parameters...), const Grid& grid, int block, cudaStream_t stream,
            std::type_identity_t<Parameters>... arguments) {
  if (grid.blocks == 0) return;
#ifdef __CUDACC__
  kernel<<<dim3(static_cast<unsigned>(grid.blocks)), dim3(static_cast<unsigned>(block)), 0,
           stream>>>(arguments...);
#else
  fake_cuda::launch(stream, grid.where.function_name(), static_cast<int>(grid.blocks), block,
                    [=] { kernel(arguments...); });
#endif
  check_launch(cudaGetLastError(), grid.where.function_name());
}
#endif

}  // namespace pipetrain::cuda
