#include "backend/cuda/staging.hpp"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <cstring>

namespace pipetrain::cuda {
namespace {

constexpr std::size_t kAlignment = 256;  // of each piece: devices copy whole lines fastest

}  // namespace

PinnedMemory allocate_pinned(std::size_t bytes) {
  void* memory = nullptr;
  const cudaError_t status =
      cudaHostAlloc(&memory, bytes, cudaHostAllocPortable | cudaHostAllocMapped);
  if (status != cudaSuccess) {
    Failure why = failure(status);
    if (status == cudaErrorMemoryAllocation)
      why.advice = "free some of this machine's own memory (not its GPUs'), use fewer workers";
    throw_device_error({}, fmt::format("pin {} bytes of the host's memory", bytes), why);
  }
  return PinnedMemory(memory);
}

void Staging::take_memory() {
  PinnedMemory memory = allocate_pinned(kBlocks * block_bytes_);
  std::vector<CudaEvent> events;
  for (std::size_t i = 0; i < kBlocks; ++i) events.emplace_back(unsigned{cudaEventDisableTiming});
  passed_ = std::move(events);
  memory_ = std::move(memory);
}

void Staging::write(cudaStream_t stream, void* to, const void* host, std::size_t bytes) {
  if (bytes > 0 && !memory_) take_memory();
  for (std::size_t done = 0, piece = 0; done < bytes; done += piece) {
    if (filled_ >= block_bytes_) enter_next_block();
    piece = std::min(bytes - done, block_bytes_ - filled_);
    std::byte* const pinned =
        static_cast<std::byte*>(memory_.get()) + block_ * block_bytes_ + filled_;
    filled_ += (piece + kAlignment - 1) / kAlignment * kAlignment;
    std::memcpy(pinned, static_cast<const std::byte*>(host) + done, piece);
    check(cudaMemcpyAsync(static_cast<std::byte*>(to) + done, pinned, piece, cudaMemcpyHostToDevice,
                          stream),
          "copy to the device");
    check(cudaEventRecord(passed_[block_].get(), stream), "record an event");
  }
}

// An event that was never recorded counts as passed.
void Staging::enter_next_block() {
  block_ = (block_ + 1) % kBlocks;
  filled_ = 0;
  if (!has_passed(passed_[block_]))
    check(cudaEventSynchronize(passed_[block_].get()), "wait for the device");
}

}  // namespace pipetrain::cuda
