// Mini-batches in order, made ahead by a thread of the loader, or by as many as the data set asks
// for. Which samples a mini-batch holds is a function of (seed, mini-batch) alone: it does not
// depend on stages, workers or timing (sample_order.hpp).
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
  Lengths lengths;                    // of every sample; 0, 0: as the data set says
  AlignedVector<float> inputs;        // [samples, input shape] if LoaderOptions::inputs; or
  std::vector<std::int32_t> tokens;   // [samples, input shape]
  std::vector<std::int32_t> classes;  // [samples, labels per sample], or
  std::vector<float> values;          // [samples, target shape]
  std::vector<SampleId> ids;          // [samples]

  std::int64_t labels = 0;  // those other than kNoLabel: the loss is the mean over them
};

// In samples first .. first + count - 1: classes other than kNoLabel; float values count one per
// sample.
std::int64_t count_labels(const MiniBatch& batch, int first, int count);

struct LoaderOptions {
  OrderOptions order;
  bool repeat = true;           // false: one pass, for validation
  std::int64_t first_step = 0;  // where to start
  int depth = 4;       // mini-batches held at once: all that a run has in flight, and some ahead
  bool inputs = true;  // false: only labels are needed, as on a rank of the last stage
  int reader_threads =
      0;  // threads that the readers run on; 0: one each (1 if one thread runs all)
};

// Thrown by `get` once the loader is closed: another thread has failed or is done.
struct LoaderClosed : std::runtime_error {
  LoaderClosed() : std::runtime_error("the loader was closed") {}
};

// `get(step)` waits until that mini-batch is made. Each mini-batch must be released exactly
// `readers` times (by each copy of stage 0 and of the last stage), each time by a thread that got
// it; then its memory is reused. A reader that does not need it calls `skip` instead of both, any
// time before or after it is made; one that all readers have skipped in time is not read at all. At
// most `depth` are held. Without readers nothing is made. A reference from `get` is valid until
// that reader's release. The constructor allocates all memory but that for skipped mini-batches.
//
// Threading: `get`, `release`, `skip` and `close` from any thread. Errors: mini-batches before a
// reading error are still returned; from the failed one on, `get` rethrows it. `close` wakes all
// waiting threads: from then on `get` throws LoaderClosed. A `get` that can never return is a bug
// of the caller and throws InternalError: for a mini-batch that is already released, that is past
// the end of a single pass, or that waits for memory which this thread itself holds, or which all
// the readers' threads wait for.
class Loader {
 public:
  Loader(const Dataset& dataset, const LoaderOptions& options, int readers);
  ~Loader();  // closes and joins; each thread may first have to finish reading one sample
  std::int64_t steps_per_epoch() const;
  const MiniBatch& get(std::int64_t step);
  void release(std::int64_t step);
  void skip(std::int64_t step);
  void close() noexcept;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace pipetrain
