// Which samples each mini-batch holds: the data set decides, the loader follows.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/ids.hpp"
#include "base/lengths.hpp"

namespace pipetrain {

struct Minibatch {
  Lengths lengths;  // to which all its samples are padded
  std::span<const SampleId> samples;
};

struct MinibatchSize {
  std::int64_t samples = 0;
  Lengths lengths;
  bool operator==(const MinibatchSize&) const = default;
};

// A pure function of (seed, mini-batch), whatever was asked for before. Threading: one thread at a
// time.
class MinibatchOrder {
 public:
  virtual ~MinibatchOrder() = default;
  virtual std::int64_t steps_per_epoch() const = 0;
  // The 0-based mini-batch `step`; valid until the next call. Allocates nothing.
  virtual Minibatch of(std::int64_t step) = 0;
  // The distinct sizes of the mini-batches in an epoch, a largest one first.
  virtual std::vector<MinibatchSize> sizes() const = 0;
};

struct OrderOptions {
  std::int64_t batch_size = 1;  // in samples, if the data set has no limit of its own
  bool shuffle = true;
  bool drop_last = true;  // drop the last mini-batch of an epoch if samples do not fill it
  std::uint64_t seed = 1;
};

}  // namespace pipetrain
