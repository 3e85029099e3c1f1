#include "runtime/memory.hpp"

#include <numeric>

namespace pipetrain {

std::size_t MemoryAccount::total() const {
  return std::accumulate(bytes.begin(), bytes.end(), std::size_t{0});
}

StageMemory::~StageMemory() {
  for (void* block : blocks_) backend_.release(block);
}

std::byte* StageMemory::take(Use use, std::size_t bytes) {
  if (bytes == 0) return nullptr;
  blocks_.reserve(blocks_.size() + 1);
  void* const block = backend_.allocate(bytes);
  blocks_.push_back(block);
  account_[use] += bytes;
  return static_cast<std::byte*>(block);
}

std::byte* StageMemory::exchange(Use use, std::byte* block, std::size_t old_bytes,
                                 std::size_t bytes) {
  if (block) {
    std::erase(blocks_, static_cast<void*>(block));
    backend_.release(block);
    account_[use] -= old_bytes;
  }
  return take(use, bytes);
}

}  // namespace pipetrain
