// The memory of one stage: taken from its stream before training, accounted by what it is for.
#pragma once

#include <cstddef>
#include <vector>

#include "backend/stream.hpp"
#include "compile/memory_account.hpp"

namespace pipetrain {

// Owns blocks on one stream's device. Not thread-safe; the stream outlives it.
class StageMemory {
 public:
  // `together`: this many of the bytes that are taken first come from one block, if they fill a
  // large page: only whole blocks get large pages.
  explicit StageMemory(Stream& stream, std::size_t together = 0);
  StageMemory(const StageMemory&) = delete;
  StageMemory& operator=(const StageMemory&) = delete;
  ~StageMemory();

  // Zeroed, 64-byte aligned; null for 0 bytes. Throws a DeviceError if the device is out of memory.
  std::byte* take(Use use, std::size_t bytes);
  // Takes a larger block in place of `block` (null: a first one); the old content is lost.
  std::byte* exchange(Use use, std::byte* block, std::size_t old_bytes, std::size_t bytes);
  const MemoryAccount& account() const { return account_; }

 private:
  Stream& stream_;
  std::vector<void*> blocks_;    // allocated one by one
  std::byte* common_ = nullptr;  // one block shared by several
  std::byte* next_ = nullptr;    // free part of common_
  std::size_t left_ = 0;
  MemoryAccount account_;
};

}  // namespace pipetrain
