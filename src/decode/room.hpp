// A block of memory that is as large as the largest that was ever asked for.
#pragma once

#include <cstddef>

#include "stage/memory.hpp"

namespace pipetrain {

// Threading: of one thread at a time. Stream and memory outlive it.
class Room {
 public:
  Room(Stream& stream, StageMemory& memory, Use use)
      : stream_(stream), memory_(memory), use_(use) {}

  // At least this many bytes. Where there were fewer the block is another one, of zeros: the stream
  // is waited for, and what was there is lost. DeviceError: there is no more; the room is empty.
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
