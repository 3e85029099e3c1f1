// Mini-batches in order, made ahead by a thread of their own, or by as many as the data set asks
// for. Which samples a mini-batch holds is a function of (seed, mini-batch) alone: it depends on no
// stage, worker or timing (sample_order.hpp).
#pragma once

#include <cstdint>
#include <memory>
#include <stdexcept>
#include <vector>

#include "base/aligned_vector.hpp"
#include "base/ids.hpp"
#include "data/dataset.hpp"

namespace pipetrain {

struct MiniBatch {
  std::int64_t step = 0;  // 0-based number of this mini-batch
  int samples = 0;
  Lengths lengths;                    // of every sample; 0, 0: the data set's
  AlignedVector<float> inputs;        // [samples, input shape]; LoaderOptions::inputs; or
  std::vector<std::int32_t> tokens;   // [samples, input shape]
  std::vector<std::int32_t> classes;  // [samples, labels of one], or
  std::vector<float> values;          // [samples, target shape]
  std::vector<SampleId> ids;          // [samples]

  std::int64_t labels = 0;  // what the loss is the mean over: those that ask for a class
};

// Of samples [first, first + count): classes other than kNoLabel; values count once a sample.
std::int64_t count_labels(const MiniBatch& batch, int first, int count);

struct LoaderOptions {
  OrderOptions order;
  bool repeat = true;           // false: one pass, for validation
  std::int64_t first_step = 0;  // where to begin
  int depth = 4;                // mini-batches held at once: more than any run has in flight
  bool inputs = true;           // false: labels alone are needed, as on a rank of the last stage
  int reader_threads =
      0;  // threads that the readers run on; 0: one each (1 where one thread does all)
};

// What `get` throws once the loader is closed: somebody else failed or is done.
struct LoaderClosed : std::runtime_error {
  LoaderClosed() : std::runtime_error("the loader was closed") {}
};

// Threading: `get` and `release` from any thread; `get(step)` waits until that mini-batch is made.
// Every mini-batch is released exactly `readers` times (by each copy of stage 0 and of the last
// stage), each time by a thread that got it; then its memory is reused; at most `depth` are held. A
// reference from `get` is valid until that reader's release. Mini-batches before a reading error
// are still given; from the failed one on `get` rethrows it. `close` wakes everyone: from then on
// `get` throws LoaderClosed. A `get` that can never return is a bug of the caller and throws
// InternalError: a mini-batch that is already released, that is past the end of a single pass, or
// that waits for memory while this thread keeps that memory itself, or while all readers' threads
// wait likewise. The constructor allocates all memory.
class Loader {
 public:
  Loader(const Dataset& dataset, const LoaderOptions& options, int readers);
  ~Loader();  // closes, and joins the thread: waits for one sample's read of each thread at most
  std::int64_t steps_per_epoch() const;
  const MiniBatch& get(std::int64_t step);
  void release(std::int64_t step);
  void close() noexcept;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace pipetrain
