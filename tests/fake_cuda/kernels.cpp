// Launches, and what a running kernel touches. The device code is compiled with the instrumentation
// of the thread sanitizer, whose functions are not the sanitizer's but these: each read and write
// of a kernel is checked by its address. With a real sanitizer, only the order of execution and the
// NaN in fresh memory are left to show mistakes.
#include <utility>

#include "fake_cuda/world.hpp"

namespace fake_cuda {
namespace {

thread_local bool watching = false;  // this thread runs an operation, and not the fake itself

struct NotWatching {
  NotWatching() : before(std::exchange(watching, false)) {}
  ~NotWatching() { watching = before; }
  NotWatching(const NotWatching&) = delete;
  NotWatching& operator=(const NotWatching&) = delete;
  bool before;
};

}  // namespace

bool enqueue(cudaStream_t stream, const char* what, std::function<void()> work) {
  return enqueue_when(stream, what, nullptr, std::move(work));
}

bool enqueue_when(cudaStream_t stream, const char* what, std::function<bool()> ready,
                  std::function<void()> work) {
  return runtime_call(
             [&] {
               if (!is_open(stream)) return cudaErrorInvalidResourceHandle;
               if (stream->queue->device != thread().device) return cudaErrorInvalidResourceHandle;
               const auto watched = [work = std::move(work)] {
                 watching = true;
                 work();
                 watching = false;
               };
               push(stream, {.what = what,
                             .work = watched,
                             .ready = std::move(ready),
                             .awaited = {},
                             .recorded = {},
                             .host = {}});
               return cudaSuccess;
             },
             cudaErrorLaunchFailure) == cudaSuccess;
}

void at_thread(std::int64_t block, int thread, int syncs) {
  world().memory.threads().at(block, thread, syncs);
}

void shared_memory(const void* memory, std::size_t bytes) {
  world().memory.threads().share(reinterpret_cast<std::uintptr_t>(memory), bytes);
}

void reads(const void* memory, std::size_t bytes) {
  const NotWatching guard;
  world().memory.access(memory, bytes, Access::Read);
}

void writes(const void* memory, std::size_t bytes) {
  const NotWatching guard;
  world().memory.access(memory, bytes, Access::Write);
}

}  // namespace fake_cuda

#ifndef __SANITIZE_THREAD__

namespace fake_cuda {
namespace {

void touched(const void* place, std::size_t bytes, bool write) {
  if (!watching) return;
  const NotWatching guard;
  Memory& memory = world().memory;
  const bool ours = memory.is_ours(place);
  const auto address = reinterpret_cast<std::uintptr_t>(place);
  KernelThreads& threads = memory.threads();
  const bool shared = threads.shares(address);
  if (!ours && !shared) return;
  if (write ? threads.write(address, shared) : threads.read(address, shared))
    memory.race_in_kernel(place);
  if (ours) memory.access(place, bytes, write ? Access::Write : Access::Read);
}

}  // namespace
}  // namespace fake_cuda

extern "C" {
#define FAKE_CUDA_ACCESS(bytes)                                                      \
  void __tsan_read##bytes(void* p) { fake_cuda::touched(p, bytes, false); }          \
  void __tsan_write##bytes(void* p) { fake_cuda::touched(p, bytes, true); }          \
  void __tsan_volatile_read##bytes(void* p) { fake_cuda::touched(p, bytes, false); } \
  void __tsan_volatile_write##bytes(void* p) { fake_cuda::touched(p, bytes, true); }
FAKE_CUDA_ACCESS(1)
FAKE_CUDA_ACCESS(2)
FAKE_CUDA_ACCESS(4)
FAKE_CUDA_ACCESS(8)
FAKE_CUDA_ACCESS(16)
#define FAKE_CUDA_UNALIGNED(bytes)                                                    \
  void __tsan_unaligned_read##bytes(void* p) { fake_cuda::touched(p, bytes, false); } \
  void __tsan_unaligned_write##bytes(void* p) { fake_cuda::touched(p, bytes, true); }
FAKE_CUDA_UNALIGNED(2)
FAKE_CUDA_UNALIGNED(4)
FAKE_CUDA_UNALIGNED(8)
FAKE_CUDA_UNALIGNED(16)
void __tsan_read_range(void* p, unsigned long bytes) { fake_cuda::touched(p, bytes, false); }
void __tsan_write_range(void* p, unsigned long bytes) { fake_cuda::touched(p, bytes, true); }
void __tsan_init() {}
void __tsan_func_entry(void*) {}
void __tsan_func_exit() {}
void __tsan_vptr_update(void**, void*) {}
void __tsan_vptr_read(void**) {}
}

#endif
