// What lies between the host's memory and a device: pinned blocks that a copy reads while the host
// goes on. Each block has an event, and is taken again once the device has passed it:
//
//   host    copy into A   copy into B   copy into A ..
//   device       A -> x        B -> y        A -> x ..
#pragma once

#include <cstddef>
#include <deque>
#include <memory>

#include "backend/cuda/handles.hpp"

namespace pipetrain::cuda {

struct FreePinned {
  void operator()(void* memory) const { cudaFreeHost(memory); }
};
using PinnedMemory = std::unique_ptr<void, FreePinned>;

PinnedMemory allocate_pinned(std::size_t bytes);  // any device reaches it

// Of one stream, which has finished when this ends.
class Staging {
 public:
  // In the stream's order; `host` may be changed as soon as this returns. The stream's device is
  // current. Waits for the device only where it is so far behind that all blocks are taken.
  void write(cudaStream_t stream, void* to, const void* host, std::size_t bytes);

  std::size_t bytes() const { return bytes_; }  // of all blocks

 private:
  struct Block {
    PinnedMemory memory;
    std::size_t bytes = 0;
    bool taken = false;  // the device may still read it
    CudaEvent passed{cudaEventDisableTiming};
    Block(PinnedMemory pinned, std::size_t size) : memory(std::move(pinned)), bytes(size) {}
  };

  Block& take(std::size_t bytes);  // a block that nobody reads, at the end of the queue
  void find_passed();
  Block& to_the_end(std::deque<Block>::iterator block);

  std::deque<Block> blocks_;  // that which was written longest ago first
  std::size_t bytes_ = 0;
};

}  // namespace pipetrain::cuda
