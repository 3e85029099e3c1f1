// The libraries' workspaces, cut out of a kernel's scratch. Scratch is aligned to 64 bytes, and the
// libraries want more.
#pragma once

#include <cstddef>
#include <cstdint>

namespace pipetrain::cuda {

inline constexpr std::size_t kWorkspaceAlignment = 256;

// How much scratch it takes to hold an aligned workspace of this many bytes.
constexpr std::size_t scratch_for_workspace(std::size_t bytes) {
  return bytes > 0 ? bytes + kWorkspaceAlignment : 0;
}

// Null for an empty workspace.
inline void* workspace_in(void* scratch, std::size_t bytes) {
  if (bytes == 0) return nullptr;
  const std::size_t past = reinterpret_cast<std::uintptr_t>(scratch) % kWorkspaceAlignment;
  return static_cast<std::byte*>(scratch) + (past == 0 ? 0 : kWorkspaceAlignment - past);
}

}  // namespace pipetrain::cuda
