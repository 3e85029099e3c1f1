#include "backend/cuda/staging.hpp"

#include <algorithm>
#include <cstring>

namespace pipetrain::cuda {
namespace {

constexpr std::size_t kGranule = std::size_t{64} << 10;   // small writes share sizes
constexpr std::size_t kBytesMax = std::size_t{64} << 20;  // or two blocks, if that is more

}  // namespace

PinnedMemory allocate_pinned(std::size_t bytes) {
  void* memory = nullptr;
  check(cudaHostAlloc(&memory, bytes, cudaHostAllocPortable | cudaHostAllocMapped),
        "allocate pinned memory of the host");
  return PinnedMemory(memory);
}

void Staging::write(cudaStream_t stream, void* to, const void* host, std::size_t bytes) {
  if (bytes == 0) return;
  Block& block = take(bytes);
  std::memcpy(block.memory.get(), host, bytes);
  block.taken = true;
  check(cudaMemcpyAsync(to, block.memory.get(), bytes, cudaMemcpyHostToDevice, stream),
        "copy to the device");
  check(cudaEventRecord(block.passed.get(), stream), "record an event");
}

Staging::Block& Staging::take(std::size_t bytes) {
  find_passed();
  // The smallest that fits, so that small writes leave large blocks alone.
  auto free = blocks_.end(), oldest = blocks_.end();
  for (auto block = blocks_.begin(); block != blocks_.end(); ++block) {
    if (block->bytes < bytes) continue;
    if (oldest == blocks_.end()) oldest = block;
    if (!block->taken && (free == blocks_.end() || block->bytes < free->bytes)) free = block;
  }
  if (free != blocks_.end()) return to_the_end(free);

  const std::size_t rounded = (bytes + kGranule - 1) / kGranule * kGranule;
  if (oldest == blocks_.end() || bytes_ + rounded <= std::max(kBytesMax, 2 * rounded)) {
    Block& added = blocks_.emplace_back(allocate_pinned(rounded), rounded);
    bytes_ += rounded;
    return added;
  }
  check(cudaEventSynchronize(oldest->passed.get()), "wait for the device");
  return to_the_end(oldest);
}

// One stream passes its events in their order: behind the first that it has not, nothing is free.
void Staging::find_passed() {
  for (Block& block : blocks_) {
    if (!block.taken) continue;
    const cudaError_t status = cudaEventQuery(block.passed.get());
    if (status == cudaErrorNotReady) {
      cudaGetLastError();  // an answer, not a failure for the next call to tell of
      return;
    }
    check(status, "ask how far the device is");
    block.taken = false;
  }
}

Staging::Block& Staging::to_the_end(std::deque<Block>::iterator block) {
  std::rotate(block, std::next(block), blocks_.end());
  return blocks_.back();
}

}  // namespace pipetrain::cuda
