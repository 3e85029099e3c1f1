#include "runtime/memory.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

namespace pipetrain {
namespace {

constexpr std::size_t kLine = 64, kLarge = std::size_t{2} << 20;
constexpr std::size_t kBlocks = 1024;  // whose last lines a common block has room for

}  // namespace

std::size_t MemoryAccount::total() const {
  return std::accumulate(bytes.begin(), bytes.end(), std::size_t{0});
}

MemoryAccount operator+(MemoryAccount a, const MemoryAccount& b) {
  for (std::size_t use = 0; use < a.bytes.size(); ++use) a.bytes[use] += b.bytes[use];
  return a;
}

HeldMemory operator+(const HeldMemory& a, const HeldMemory& b) {
  return {a.training + b.training, a.validation + b.validation};
}

std::size_t HeldMemory::most() const { return std::max(training.total(), validation.total()); }

StageMemory::StageMemory(Stream& stream, std::size_t together) : stream_(stream) {
  if (together < kLarge) return;
  left_ = together + kBlocks * kLine;
  common_ = next_ = static_cast<std::byte*>(stream.allocate(left_));
}

StageMemory::~StageMemory() {
  for (void* block : blocks_) stream_.release(block);
  if (common_) stream_.release(common_);
}

std::byte* StageMemory::take(Use use, std::size_t bytes) {
  if (bytes == 0) return nullptr;
  account_[use] += bytes;
  if (const std::size_t lines = (bytes + kLine - 1) / kLine * kLine; lines <= left_) {
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
    // A part of the common block stays there.
    if (std::erase(blocks_, static_cast<void*>(block)) > 0) stream_.release(block);
    account_[use] -= old_bytes;
  }
  return take(use, bytes);
}

}  // namespace pipetrain
