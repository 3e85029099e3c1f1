// The memory of one stage: taken from its stream before training, accounted by what it is for.
#pragma once

#include <cstddef>
#include <vector>

#include "backend/stream.hpp"
#include "compile/memory_account.hpp"

namespace pipetrain {

// Owns blocks of one stream's device. Not thread-safe; the stream outlives it.
class StageMemory {
 public:
  // `together`: this many bytes, of what is taken first, are in one block if that is a large one: a
  // machine's large pages hold only what is whole.
  explicit StageMemory(Stream& stream, std::size_t together = 0);
  StageMemory(const StageMemory&) = delete;
  StageMemory& operator=(const StageMemory&) = delete;
  ~StageMemory();

  // Zeroed, 64-byte aligned; null for 0 bytes. DeviceError when the device has no more.
  std::byte* take(Use use, std::size_t bytes);
  // A larger block in place of `block` (null: a first one); what it held is lost.
  std::byte* exchange(Use use, std::byte* block, std::size_t old_bytes, std::size_t bytes);
  const MemoryAccount& account() const { return account_; }

 private:
  Stream& stream_;
  std::vector<void*> blocks_;    // of their own
  std::byte* common_ = nullptr;  // a block of several
  std::byte* next_ = nullptr;    // of it
  std::size_t left_ = 0;
  MemoryAccount account_;
};

}  // namespace pipetrain
