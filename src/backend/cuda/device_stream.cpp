#include "backend/cuda/device_stream.hpp"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <cstring>

#include "backend/cuda/device/reduce.hpp"
#include "backend/cuda/update.hpp"
#include "base/error.hpp"

namespace pipetrain::cuda {
namespace {

class EventFence final : public Fence {
 public:
  EventFence(int device, unsigned flags) : device_(make_current(device)), event_(flags) {}
  ~EventFence() override { forget(cudaSetDevice(device_)); }
  EventFence(const EventFence&) = delete;
  EventFence& operator=(const EventFence&) = delete;

  bool passed() const override {
    make_current(device_);
    return has_passed(event_);
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

struct FreeOnDevice {  // requires that its device is current
  void operator()(void* memory) const noexcept { forget(cudaFree(memory)); }
};

[[noreturn]] void throw_out_of_memory(int device, std::size_t bytes) {
  forget(cudaErrorMemoryAllocation);  // reported here
  std::size_t free = 0, total = 0;
  forget(cudaMemGetInfo(&free, &total));
  throw DeviceError(
      fmt::format("cuda:{} has no memory for {} more bytes: {} of {} are free; use smaller "
                  "micro-batches, more stages, recompute = \"stage\" or a smaller model",
                  device, bytes, free, total));
}

}  // namespace

// Non-blocking: work on the default stream, which libraries may use, does not hold up ours.
DeviceStream::DeviceStream(int device)
    : device_(make_current(device)),
      stream_(unsigned{cudaStreamNonBlocking}),
      partial_sums_(kPartialSumsMax * sizeof(double)) {}

// Enqueued work reads this object's memory; the handles belong to its device.
DeviceStream::~DeviceStream() {
  forget(cudaSetDevice(device_));
  forget(cudaStreamSynchronize(stream_.get()));
}

cudaStream_t DeviceStream::handle() const {
  make_current(device_);
  return stream_.get();
}
cudnnHandle_t DeviceStream::cudnn() {
  make_current(device_);
  if (!cudnn_) {
    Cudnn made;
    check(cudnnSetStream(made.get(), stream_.get()), "use a stream");
    cudnn_ = std::move(made);
  }
  return cudnn_->get();
}
cublasLtHandle_t DeviceStream::cublas_lt() {
  make_current(device_);
  if (!cublas_lt_) cublas_lt_.emplace();
  return cublas_lt_->get();
}

bool DeviceStream::reaches(const Stream& other) const {
  if (device_ == other.device()) return true;
  int can = 0;
  check(cudaDeviceCanAccessPeer(&can, device_, other.device()),
        "ask which devices reach each other");
  return can;
}

// ---- memory

// Zeroed when this returns, so other streams may use it at once. CUDA aligns to at least 256 bytes.
// Does not use CUDA's pools: what they save is negligible before the first step, and fewer machines
// let other devices access them.
void* DeviceStream::allocate(std::size_t bytes) {
  if (bytes == 0) return nullptr;
  make_current(device_);
  void* memory = nullptr;
  const cudaError_t status = cudaMalloc(&memory, bytes);
  if (status == cudaErrorMemoryAllocation) throw_out_of_memory(device_, bytes);
  check(status, "allocate memory");
  std::unique_ptr<void, FreeOnDevice> held(memory);
  clear(memory, bytes);
  finish();
  return held.release();
}

void DeviceStream::release(void* memory) noexcept {
  if (!memory) return;
  forget(cudaSetDevice(device_));
  FreeOnDevice()(memory);
}

// The device writes to host memory: with unified addressing the pointer is valid for both.
void* DeviceStream::allocate_results(std::size_t bytes) {
  make_current(device_);
  PinnedMemory memory = allocate_pinned(std::max<std::size_t>(bytes, 1));
  std::memset(memory.get(), 0, bytes);
  return memory.release();
}
void DeviceStream::release_results(void* memory) noexcept {
  forget(cudaSetDevice(device_));
  FreePinned()(memory);
}

void DeviceStream::clear(void* memory, std::size_t bytes) {
  if (bytes > 0) check(cudaMemsetAsync(memory, 0, bytes, handle()), "clear memory");
}
void DeviceStream::copy(void* to, const void* from, std::size_t bytes) {
  if (bytes == 0) return;
  check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, handle()), "copy between devices");
}
void DeviceStream::copy_rows(const RowCopy& rows) {
  if (rows.bytes == 0 || rows.rows == 0) return;
  check(cudaMemcpy2DAsync(rows.to, rows.to_stride, rows.from, rows.from_stride, rows.bytes,
                          rows.rows, cudaMemcpyDefault, handle()),
        "copy rows");
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
  return std::make_unique<EventFence>(device_, unsigned{cudaEventDisableTiming});
}
std::unique_ptr<Fence> DeviceStream::make_timed_fence() {
  return std::make_unique<EventFence>(device_, unsigned{cudaEventDefault});
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
        "read the time between two events");
  return 1e-3 * double{milliseconds};
}
void DeviceStream::finish() { check(cudaStreamSynchronize(handle()), "finish its work"); }

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
