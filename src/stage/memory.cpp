#include "stage/memory.hpp"

#include <algorithm>
#include <utility>

#include "base/cache_line.hpp"

namespace pipetrain {
namespace {

constexpr std::size_t kLarge = std::size_t{2} << 20;
constexpr std::size_t kBlocks = 1024;  // a common block has room to round up this many to lines

}  // namespace

StageMemory::StageMemory(Stream& stream, std::size_t together) : stream_(stream) {
  if (together < kLarge) return;
  left_ = together + kBlocks * kCacheLine;
  common_ = next_ = static_cast<std::byte*>(stream.allocate(left_));
}

StageMemory::~StageMemory() {
  for (void* block : blocks_) stream_.release(block);
  if (common_) stream_.release(common_);
}

std::byte* StageMemory::take(Use use, std::size_t bytes) {
  if (bytes == 0) return nullptr;
  account_[use] += bytes;
  if (const std::size_t lines = whole_lines(bytes); lines <= left_) {
    left_ -= lines;
    return std::exchange(next_, next_ + lines);
  }
  blocks_.reserve(blocks_.size() + 1);
  void* const block = stream_.allocate(bytes);
  blocks_.push_back(block);
  return static_cast<std::byte*>(block);
}

std::byte* StageMemory::exchange(Use use, std::byte* block, std::size_t old_bytes,
                                 std::size_t bytes) {
  if (block) {
    // A part of the common block is not released.
    if (std::erase(blocks_, static_cast<void*>(block)) > 0) stream_.release(block);
    account_[use] -= old_bytes;
  }
  return take(use, bytes);
}

}  // namespace pipetrain
