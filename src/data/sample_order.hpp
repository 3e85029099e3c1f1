// Which samples each mini-batch holds: a pure function of (seed, mini-batch), whatever was asked
// before.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/ids.hpp"

namespace pipetrain {

struct SampleOrderOptions {
  std::int64_t samples = 1;  // of the data set
  std::int64_t batch_size = 1;
  bool shuffle = true;
  bool drop_last = true;
  std::uint64_t seed = 1;
};

// Shuffled, an epoch is a Fisher-Yates permutation keyed by (seed, epoch); otherwise it is file
// order. Each epoch starts at its first sample again: a dropped tail is not carried over.
class SampleOrder {
 public:
  explicit SampleOrder(const SampleOrderOptions& options);
  std::int64_t steps_per_epoch() const { return steps_per_epoch_; }
  // The samples of 0-based mini-batch `step`; valid until the next call. Allocates nothing.
  std::span<const SampleId> of(std::int64_t step);

 private:
  void permute(std::int64_t epoch);

  SampleOrderOptions options_;
  std::int64_t steps_per_epoch_;
  std::int64_t epoch_ = -1;  // that permutation_ is of
  std::vector<SampleId> permutation_;
};

}  // namespace pipetrain
