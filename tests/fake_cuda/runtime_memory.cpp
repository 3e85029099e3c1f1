// CUDA's functions for memory. Host memory that is not pinned is read when a copy is asked for and
// written before it returns, as by CUDA; pinned memory as late as the copy itself.
#include <cstring>
#include <utility>
#include <vector>

#include "fake_cuda/world.hpp"

using fake_cuda::Access;
using fake_cuda::freeing_call;
using fake_cuda::is_open;
using fake_cuda::Memory;
using fake_cuda::runtime_call;
using fake_cuda::thread;
using fake_cuda::world;

namespace {

// An address and a size within one live block, or in memory that is not ours.
bool usable(const void* memory, std::size_t bytes) {
  return memory && (!world().memory.is_ours(memory) || world().memory.holds(memory, bytes));
}

bool on_device(const void* memory) {
  const Memory::Block* const block = world().memory.find(memory);
  return block && block->device != Memory::host;
}

void push(cudaStream_t stream, const char* what, std::function<void()> work) {
  fake_cuda::push(stream, {.what = what,
                           .work = std::move(work),
                           .ready = {},
                           .awaited = {},
                           .recorded = {},
                           .host = {}});
}

// Between devices without peer access CUDA copies by way of the host.
void copy_now(void* to, const void* from, std::size_t bytes) {
  world().memory.reach_everything();
  world().memory.access(from, bytes, Access::Copy);
  world().memory.access(to, bytes, Access::Write);
  std::memcpy(to, from, bytes);
}

bool fits(cudaMemcpyKind kind, const void* to, const void* from) {
  switch (kind) {
    case cudaMemcpyHostToDevice:
      return on_device(to) && !on_device(from);
    case cudaMemcpyDeviceToHost:
      return !on_device(to) && on_device(from);
    case cudaMemcpyDeviceToDevice:
      return on_device(to) && on_device(from);
    case cudaMemcpyHostToHost:
      return false;  // not needed here
    default:
      return true;
  }
}

bool overlap(const void* a, const void* b, std::size_t bytes) {
  const auto first = reinterpret_cast<std::uintptr_t>(a);
  const auto second = reinterpret_cast<std::uintptr_t>(b);
  return first < second + bytes && second < first + bytes;
}

cudaError_t check_copy(void* to, const void* from, std::size_t bytes, cudaStream_t stream) {
  if (!is_open(stream)) return cudaErrorInvalidResourceHandle;
  if (!usable(to, bytes) || !usable(from, bytes) || overlap(to, from, bytes)) {
    fake_cuda::found("a copy from or to memory that no block holds, or onto itself");
    return cudaErrorInvalidValue;
  }
  return cudaSuccess;
}

Memory::Block* block_at(void* memory) {
  Memory::Block* const block = world().memory.find(memory);
  const bool whole = block && reinterpret_cast<void*>(block->begin) == memory;
  if (whole && block->live) return block;
  fake_cuda::found("memory is freed twice, or was never allocated");
  return nullptr;
}

// On a GPU these calls may wait for the device, which waits for another process.
void may_wait_for(int device) {
  ++world().host_waits;
  if (world().scheduler.waits_for_peer(device))
    fake_cuda::found("memory is taken or freed while a transfer waits for its other side");
}

// The seam's streams have finished before they free: so this waits for nothing, and whatever still
// uses the memory is found. A GPU might wait.
cudaError_t free_at_once(void* memory, bool pinned) {
  if (!memory) return cudaSuccess;
  Memory::Block* const block = block_at(memory);
  may_wait_for(block && !pinned ? block->device : thread().device);
  if (!block || (block->device == Memory::host) != pinned) return cudaErrorInvalidValue;
  fake_cuda::Clock host = world().host;
  host.join(thread().host);
  world().memory.free(*block, host);
  return cudaSuccess;
}

}  // namespace

extern "C" {

cudaError_t cudaMalloc(void** memory, size_t bytes) {
  const auto work = [&] {
    const int device = thread().device;
    may_wait_for(device);
    const std::size_t used = world().memory.bytes_in_use(device);
    if (used + bytes > world().options.device_bytes) return cudaErrorMemoryAllocation;
    *memory = reinterpret_cast<void*>(world().memory.allocate(device, bytes).begin);
    return cudaSuccess;
  };
  return runtime_call(work, cudaErrorMemoryAllocation);
}

cudaError_t cudaFree(void* memory) {
  return freeing_call([&] { return free_at_once(memory, false); });
}

cudaError_t cudaMemGetInfo(size_t* free, size_t* total) {
  return runtime_call([&] {
    *total = world().options.device_bytes;
    *free = *total - world().memory.bytes_in_use(thread().device);
    return cudaSuccess;
  });
}

cudaError_t cudaHostAlloc(void** memory, size_t bytes, unsigned) {
  const auto work = [&] {
    may_wait_for(thread().device);
    *memory = reinterpret_cast<void*>(world().memory.allocate(Memory::host, bytes).begin);
    return cudaSuccess;
  };
  return runtime_call(work, cudaErrorMemoryAllocation);
}

cudaError_t cudaFreeHost(void* memory) {
  return freeing_call([&] { return free_at_once(memory, true); });
}

cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t bytes, cudaMemcpyKind kind,
                            cudaStream_t stream) {
  auto held = fake_cuda::lock();
  if (world().faults.fires()) return fake_cuda::remember(cudaErrorUnknown);
  if (bytes == 0 && is_open(stream)) return cudaSuccess;
  const cudaError_t error = check_copy(to, from, bytes, stream);
  if (error != cudaSuccess) return fake_cuda::remember(error);
  if (!fits(kind, to, from)) return fake_cuda::remember(cudaErrorInvalidMemcpyDirection);
  if (!world().memory.is_ours(from)) {
    const auto* const first = static_cast<const char*>(from);
    push(stream, "cudaMemcpyAsync", [to, staged = std::vector<char>(first, first + bytes)] {
      copy_now(to, staged.data(), staged.size());
    });
    return cudaSuccess;
  }
  push(stream, "cudaMemcpyAsync", [to, from, bytes] { copy_now(to, from, bytes); });
  if (world().memory.is_ours(to)) return cudaSuccess;
  ++world().host_waits;
  fake_cuda::Queue& queue = *stream->queue;
  fake_cuda::wait_for(held, queue, queue.enqueued);
  world().host.join(queue.clock);
  return cudaSuccess;
}

// Only for rows on devices.
cudaError_t cudaMemcpy2DAsync(void* to, size_t to_pitch, const void* from, size_t from_pitch,
                              size_t width, size_t height, cudaMemcpyKind kind,
                              cudaStream_t stream) {
  return runtime_call([&] {
    if (width > to_pitch || width > from_pitch) return cudaErrorInvalidPitchValue;
    const auto row = [=](size_t r) {
      return std::pair(static_cast<char*>(to) + r * to_pitch,
                       static_cast<const char*>(from) + r * from_pitch);
    };
    for (size_t r = 0; r < height; ++r) {
      const auto [target, source] = row(r);
      const cudaError_t error = check_copy(target, source, width, stream);
      if (error != cudaSuccess) return error;
      if (!on_device(target) || !on_device(source) || !fits(kind, target, source))
        return cudaErrorInvalidMemcpyDirection;
    }
    push(stream, "cudaMemcpy2DAsync", [=] {
      for (size_t r = 0; r < height; ++r) copy_now(row(r).first, row(r).second, width);
    });
    return cudaSuccess;
  });
}

cudaError_t cudaMemsetAsync(void* memory, int value, size_t bytes, cudaStream_t stream) {
  return runtime_call([&] {
    if (!is_open(stream) || stream->queue->device != thread().device)
      return cudaErrorInvalidResourceHandle;
    if (bytes == 0) return cudaSuccess;
    if (!world().memory.holds(memory, bytes)) {
      fake_cuda::found("cudaMemsetAsync of memory that no block holds");
      return cudaErrorInvalidValue;
    }
    push(stream, "cudaMemsetAsync", [=] {
      world().memory.access(memory, bytes, Access::Write);
      std::memset(memory, value, bytes);
    });
    return cudaSuccess;
  });
}

cudaError_t cudaMemcpyPeerAsync(void* to, int to_device, const void* from, int from_device,
                                size_t bytes, cudaStream_t stream) {
  return runtime_call([&] {
    const cudaError_t error = check_copy(to, from, bytes, stream);
    if (error != cudaSuccess) return error;
    const Memory::Block* const target = world().memory.find(to);
    const Memory::Block* const source = world().memory.find(from);
    if (!target || !source || target->device != to_device || source->device != from_device)
      return cudaErrorInvalidValue;
    push(stream, "cudaMemcpyPeerAsync", [=] { copy_now(to, from, bytes); });
    return cudaSuccess;
  });
}

}  // extern "C"
