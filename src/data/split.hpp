// Keeps part of the training samples for validation. A separate seed chooses them: the training
// seed, the mini-batch size and the number of stages do not change the choice.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "base/ids.hpp"
#include "data/dataset.hpp"

namespace pipetrain {

struct SampleSplit {
  std::vector<SampleId> train, validation;  // ascending; disjoint; together every sample
};
struct SplitChoice {
  double fraction = 0;  // above 0, below 1
  std::uint64_t seed = 1;
};

// floor(samples * fraction) for validation, but at least one sample in each part; `samples` must be
// 2 or more.
SampleSplit split_samples(std::int64_t samples, const SplitChoice& choice);
// As [data] says; UsageError for fewer than 2 samples.
SampleSplit split_as_configured(std::int64_t samples, const DataConfig& config);

// The samples `picked` of another data set, in this order, numbered from 0.
std::unique_ptr<const Dataset> pick(std::shared_ptr<const Dataset> whole,
                                    std::vector<SampleId> picked);

}  // namespace pipetrain
