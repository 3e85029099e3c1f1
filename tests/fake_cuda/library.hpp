// What the fake libraries share: sums over device memory in plain loops, f32 with f64 sums, and the
// declaration of what is read and written.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "fake_cuda/runtime.hpp"

namespace fake_cuda {

inline constexpr std::size_t workspace_alignment = 256;

inline bool aligned(const void* memory, std::size_t to) {
  return reinterpret_cast<std::uintptr_t>(memory) % to == 0;
}

inline double scalar(const void* host) { return *static_cast<const float*>(host); }

// A workspace holds garbage before and after: its contents are lost.
inline void spoil(void* workspace, std::size_t bytes) {
  if (bytes == 0) return;
  writes(workspace, bytes);
  std::memset(workspace, 0xff, bytes);
}

// target = alpha * sums + beta * target; with beta 0 nothing is read. The access is declared apart.
inline void blend(float* target, const std::vector<double>& sums, double alpha, double beta) {
  for (std::size_t i = 0; i < sums.size(); ++i)
    target[i] =
        static_cast<float>(beta == 0 ? alpha * sums[i] : alpha * sums[i] + beta * target[i]);
}

}  // namespace fake_cuda
