// Carries data from host memory to a device: a ring of pinned memory, from which copies read while
// the host continues. It is filled piece by piece, in blocks; each has an event that is recorded
// after the last copy out of the block:
//
//   block 0        block 1        block 2        ..
//   [a a b b b b]  [b b b c - -]  [           ]       a, b, c: writes; b is two pieces
//         event 0        event 1                      the host enters a block after its event
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "backend/cuda/handles.hpp"

namespace pipetrain::cuda {

struct FreePinned {
  void operator()(void* memory) const noexcept { forget(cudaFreeHost(memory)); }
};
using PinnedMemory = std::unique_ptr<void, FreePinned>;

PinnedMemory allocate_pinned(std::size_t bytes);  // reachable from any device

// For one stream, which must have finished when this is destroyed.
class Staging {
 public:
  static constexpr std::size_t kBlocks = 8;

  // The first write allocates all of its memory.
  explicit Staging(std::size_t block_bytes = std::size_t{4} << 20) : block_bytes_(block_bytes) {}

  // Enqueues the copy; `host` may be changed as soon as this returns. The stream's device must be
  // current. Waits for the device only if it is a whole ring behind.
  void write(cudaStream_t stream, void* to, const void* host, std::size_t bytes);

 private:
  void take_memory();
  void enter_next_block();

  std::size_t block_bytes_;
  PinnedMemory memory_;
  std::vector<CudaEvent> passed_;  // one per block
  std::size_t block_ = 0;          // the block being filled,
  std::size_t filled_ = 0;         // and how many bytes of it are
};

}  // namespace pipetrain::cuda
