#include "backend/cuda/device_stream.hpp"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <cstring>

#include "backend/cuda/reduce.hpp"
#include "backend/cuda/update.hpp"
#include "base/error.hpp"

namespace pipetrain::cuda {
namespace {

void make_current(int device) { check(cudaSetDevice(device), "use the device"); }

// An event that was never recorded counts as passed, in CUDA as here.
class EventFence final : public Fence {
 public:
  explicit EventFence(int device) : device_(device), event_(unsigned{cudaEventDefault}) {}

  bool passed() const override {
    make_current(device_);
    const cudaError_t status = cudaEventQuery(event_.get());
    if (status == cudaErrorNotReady) {
      cudaGetLastError();  // an answer, not a failure for the next call to tell of
      return false;
    }
    check(status, "ask how far the device is");
    return true;
  }
  void wait() const override {
    make_current(device_);
    check(cudaEventSynchronize(event_.get()), "wait for the device");
  }
  cudaEvent_t event() const { return event_.get(); }

 private:
  int device_;
  CudaEvent event_;
};

cudaEvent_t event_of(const Fence& fence) { return static_cast<const EventFence&>(fence).event(); }

int current(int device) {
  make_current(device);
  return device;
}

[[noreturn]] void throw_out_of_memory(int device, std::size_t bytes) {
  cudaGetLastError();  // this failure is told of here: no later call shall see it
  std::size_t free = 0, total = 0;
  cudaMemGetInfo(&free, &total);
  throw DeviceError(
      fmt::format("cuda:{} has no memory for {} more bytes: {} of {} are free; use smaller "
                  "micro-batches, more stages, recompute = \"stage\" or a smaller model",
                  device, bytes, free, total));
}

}  // namespace

// Non-blocking: work of the default stream, which libraries may use, holds up none of ours.
DeviceStream::DeviceStream(int device)
    : device_(current(device)),
      stream_(unsigned{cudaStreamNonBlocking}),
      partial_sums_(kPartialSumsMax * sizeof(double)) {
  check(cudnnSetStream(cudnn_.get(), stream_.get()), "use a stream");
}

// What was asked for reads memory of this object's; the handles are those of its device.
DeviceStream::~DeviceStream() {
  cudaSetDevice(device_);
  cudaStreamSynchronize(stream_.get());
}

cudaStream_t DeviceStream::handle() const {
  make_current(device_);
  return stream_.get();
}
cudnnHandle_t DeviceStream::cudnn() const {
  make_current(device_);
  return cudnn_.get();
}
cublasLtHandle_t DeviceStream::cublas_lt() const {
  make_current(device_);
  return cublas_lt_.get();
}

// ---- memory

// The pool's blocks are aligned to 256 bytes at least. Other streams may use the block at once.
void* DeviceStream::allocate(std::size_t bytes) {
  if (bytes == 0) return nullptr;
  void* memory = nullptr;
  const cudaError_t status = cudaMallocAsync(&memory, bytes, handle());
  if (status == cudaErrorMemoryAllocation) throw_out_of_memory(device_, bytes);
  check(status, "allocate memory");
  clear(memory, bytes);
  finish();
  return memory;
}

void DeviceStream::release(void* memory) noexcept {
  if (!memory) return;
  cudaSetDevice(device_);
  cudaFreeAsync(memory, stream_.get());
}

// The device writes into the host's memory: with unified addresses the pointer is good for both.
void* DeviceStream::allocate_results(std::size_t bytes) {
  make_current(device_);
  PinnedMemory memory = allocate_pinned(std::max<std::size_t>(bytes, 1));
  std::memset(memory.get(), 0, bytes);
  return memory.release();
}
void DeviceStream::release_results(void* memory) noexcept { cudaFreeHost(memory); }

void DeviceStream::clear(void* memory, std::size_t bytes) {
  if (bytes > 0) check(cudaMemsetAsync(memory, 0, bytes, handle()), "clear memory");
}
void DeviceStream::copy(void* to, const void* from, std::size_t bytes) {
  if (bytes == 0) return;
  check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, handle()), "copy between devices");
}
void DeviceStream::write(void* to, const void* host, std::size_t bytes) {
  staging_.write(handle(), to, host, bytes);
}
void DeviceStream::read(void* host, const void* from, std::size_t bytes) {
  if (bytes > 0)
    check(cudaMemcpyAsync(host, from, bytes, cudaMemcpyDeviceToHost, handle()),
          "copy from the device");
  finish();
}

// ---- order

std::unique_ptr<Fence> DeviceStream::make_fence() {
  return std::make_unique<EventFence>(current(device_));
}
void DeviceStream::record(Fence& fence) {
  check(cudaEventRecord(event_of(fence), handle()), "record an event");
}
void DeviceStream::wait(const Fence& fence) {
  check(cudaStreamWaitEvent(handle(), event_of(fence), 0), "wait for an event");
}
double DeviceStream::seconds_between(const Fence& begin, const Fence& end) const {
  make_current(device_);
  float milliseconds = 0;
  check(cudaEventElapsedTime(&milliseconds, event_of(begin), event_of(end)),
        "tell the time between two events");
  return 1e-3 * double{milliseconds};
}
void DeviceStream::finish() { check(cudaStreamSynchronize(handle()), "do what it was asked for"); }

// ---- arithmetic

void DeviceStream::apply(const UpdateRule& rule, const UpdateArguments& arguments) {
  update(*this, rule, arguments);
}
void DeviceStream::combine(const Combination& combination) { cuda::combine(*this, combination); }
void DeviceStream::add_up(const Summation& summation) { cuda::add_up(*this, summation); }
void DeviceStream::sum_of_squares(const float* values, std::int64_t elements, double* result) {
  cuda::sum_of_squares(*this, values, elements, result);
}

}  // namespace pipetrain::cuda
