// Mini-batches of samples that all have the same size.
#pragma once

#include <cstdint>
#include <vector>

#include "data/minibatch_order.hpp"

namespace pipetrain {

// If shuffled, an epoch is a Fisher-Yates permutation keyed by (seed, epoch); otherwise it is in
// file order. Each epoch starts from its first sample: a dropped tail is not carried over.
class SampleOrder final : public MinibatchOrder {
 public:
  // For a data set with this many samples.
  SampleOrder(std::int64_t samples, const OrderOptions& options);
  std::int64_t steps_per_epoch() const override { return steps_per_epoch_; }
  Minibatch of(std::int64_t step) override;
  std::vector<MinibatchSize> sizes() const override;

 private:
  void permute(std::int64_t epoch);

  std::int64_t samples_;
  OrderOptions options_;
  std::int64_t steps_per_epoch_;
  std::int64_t epoch_ = -1;  // the epoch that permutation_ belongs to
  std::vector<SampleId> permutation_;
};

}  // namespace pipetrain
