// What is between the host's memory and a device: a ring of pinned memory that copies read while
// the host continues. It is filled piece by piece, in blocks with an event each, which is recorded
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

PinnedMemory allocate_pinned(std::size_t bytes);  // any device reaches it

// Of one stream, which has finished when this ends.
class Staging {
 public:
  static constexpr std::size_t kBlocks = 8;

  // All of its memory is taken by the first write.
  explicit Staging(std::size_t block_bytes = std::size_t{4} << 20) : block_bytes_(block_bytes) {}

  // In the stream's order; `host` may be changed as soon as this returns. The stream's device is
  // current. Waits for the device only where it is a whole ring behind.
  void write(cudaStream_t stream, void* to, const void* host, std::size_t bytes);

 private:
  void take_memory();
  void enter_next_block();

  std::size_t block_bytes_;
  PinnedMemory memory_;
  std::vector<CudaEvent> passed_;  // of each block
  std::size_t block_ = 0;          // which is being filled,
  std::size_t filled_ = 0;         // and how far
};

}  // namespace pipetrain::cuda
