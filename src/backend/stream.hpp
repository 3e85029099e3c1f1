// The work of one stage, in the order in which it is enqueued, and the memory it works on.
//
// A host's stream has done the work when the call returns. A device's stream does it later
// (asynchronous()): host memory that a call reads must be valid until the call returns, no longer;
// results for the host are valid once a fence that was recorded after the call has passed. Only
// fences order the work of two streams:
//
//   stream a   write x   record(f) ─┐
//   stream b                        └> wait(f)   read x
//
// Threading: one thread at a time may use a stream; a thread may wait for a fence that another one
// recorded, after it did. Errors: DeviceError; what fails on the device later is thrown by a later
// call.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

namespace pipetrain {

// One fused pass over a parameter. Moments are initially zero.
struct UpdateRule {
  enum class Kind { Sgd, Adam, AdamW } kind = Kind::Sgd;
  double lr = 0, momentum = 0, weight_decay = 0, beta1 = 0.9, beta2 = 0.999, eps = 1e-8;
  bool nesterov = false;
  double gradient_scale = 1;  // from clipping
  std::int64_t step = 1;      // from 1: for Adam's bias correction
  // PipeMare, section 3.2: delta = delta_decay * delta + (1 - delta_decay) * (new - old weights);
  // corrected = new weights - correction * delta.
  double delta_decay = 0, correction = 0;
};

struct UpdateArguments {
  std::int64_t elements = 0;
  const float* weights = nullptr;  // the live version
  float* new_weights = nullptr;    // where the next version goes; may be `weights`
  const float* gradient = nullptr;
  float* first_moment = nullptr;     // sgd: velocity (null without momentum); adam: m
  float* second_moment = nullptr;    // adam: v
  double* sum_of_squares = nullptr;  // null, or results memory for sum_of_squares(gradient)
  float *delta = nullptr, *corrected = nullptr;  // null, or updated too; corrected needs delta
};

struct Combination {  // result = a * x + b * y, elementwise
  std::int64_t elements = 0;
  float* result = nullptr;
  double a = 1, b = 0;
  const float *x = nullptr, *y = nullptr;
};

struct Summation {            // each of parts[i] becomes the sum of all parts, added in their order
  std::int64_t elements = 0;  // per part
  std::span<float* const> parts;
};

struct RowCopy {  // `rows` blocks of `bytes`, each one stride after the one before it
  void* to = nullptr;
  std::size_t to_stride = 0;
  const void* from = nullptr;
  std::size_t from_stride = 0;
  std::size_t bytes = 0, rows = 0;
};

// A point in a stream's work.
class Fence {
 public:
  virtual ~Fence() = default;
  virtual bool passed() const = 0;  // is all work before it done? True before any record()
  virtual void wait() const = 0;    // blocks the calling thread until it has passed
};

class Stream {
 public:
  virtual ~Stream() = default;
  virtual bool asynchronous() const = 0;
  virtual int device() const = 0;  // streams of one device share its memory
  // May work on this stream touch the other stream's device memory? copy() always may.
  virtual bool reaches(const Stream& other) const = 0;
  // What the device's own libraries call this stream (cudaStream_t); null on a host.
  virtual void* native_handle() const { return nullptr; }

  // Memory on the stream's device: 64-byte aligned, zeroed; DeviceError if there is not enough.
  // finish() must precede release(): no work may still use the memory.
  virtual void* allocate(std::size_t bytes) = 0;
  virtual void release(void* memory) noexcept = 0;
  // Zeroed memory for results, which the stream writes and the host reads (and may clear).
  virtual void* allocate_results(std::size_t bytes) = 0;
  virtual void release_results(void* memory) noexcept = 0;

  virtual void apply(const UpdateRule& rule, const UpdateArguments& arguments) = 0;
  virtual void combine(const Combination& combination) = 0;
  virtual void add_up(const Summation& summation) = 0;
  // *result = the sum of squares in f64, in a fixed order (for a given number of threads).
  virtual void sum_of_squares(const float* values, std::int64_t elements, double* result) = 0;

  virtual void clear(void* memory, std::size_t bytes) = 0;  // to zero
  // Within the device, from another device of the same backend, or from and to results memory. The
  // blocks must not overlap.
  virtual void copy(void* to, const void* from, std::size_t bytes) = 0;
  virtual void copy_rows(const RowCopy& rows) {
    for (std::size_t r = 0; r < rows.rows; ++r)
      copy(static_cast<std::byte*>(rows.to) + r * rows.to_stride,
           static_cast<const std::byte*>(rows.from) + r * rows.from_stride, rows.bytes);
  }
  virtual void write(void* to, const void* host, std::size_t bytes) = 0;
  virtual void read(void* host, const void* from, std::size_t bytes) = 0;  // waits for the data

  virtual std::unique_ptr<Fence> make_fence() = 0;
  // A fence that seconds_between() accepts; it may cost the device more.
  virtual std::unique_ptr<Fence> make_timed_fence() { return make_fence(); }
  virtual void record(Fence& fence) = 0;  // after all work enqueued so far
  // All work enqueued from here on runs after the fence's latest record(), on whichever stream of
  // this backend that was.
  virtual void wait(const Fence& fence) = 0;
  // Between two timed fences of this stream that have passed. Host streams return 0.
  virtual double seconds_between(const Fence& begin, const Fence& end) const = 0;
  virtual void finish() = 0;  // waits until all work is done
};

}  // namespace pipetrain
