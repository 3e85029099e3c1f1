// A block of memory as large as the largest request so far.
#pragma once

#include <cstddef>

#include "stage/memory.hpp"

namespace pipetrain {

// Threading: one thread at a time. Stream and memory must outlive it.
class Room {
 public:
  Room(Stream& stream, StageMemory& memory, Use use)
      : stream_(stream), memory_(memory), use_(use) {}

  // At least this many bytes. If the block is too small, waits for the stream and replaces it by a
  // new one, zeroed: its contents are lost. DeviceError if there is not enough memory; the room is
  // then empty.
  std::byte* reserve(std::size_t bytes);
  std::byte* get() const { return block_; }
  std::size_t bytes() const { return bytes_; }

 private:
  Stream& stream_;
  StageMemory& memory_;
  Use use_;
  std::byte* block_ = nullptr;
  std::size_t bytes_ = 0;
};

}  // namespace pipetrain
