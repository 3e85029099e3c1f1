// The sizes that a run's micro-batches can have; kernels are compiled for each.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "backend/backend.hpp"
#include "base/lengths.hpp"
#include "data/minibatch_order.hpp"

namespace pipetrain {

struct MicrobatchSize {
  int samples = 0;
  Mode mode = Mode::Train;
  Lengths lengths = {};
  bool operator==(const MicrobatchSize&) const = default;
};

// The samples [first, first + count) of micro-batch `index` (of `parts`) in a mini-batch. Sizes
// differ by at most one; larger ones come first.
struct SamplePart {
  int first = 0, count = 0;
};
SamplePart sample_part(int samples, int parts, int index);

// The mini-batches that a pipeline will see. If a kind is empty, none of that kind will run.
struct MinibatchSizes {
  std::vector<MinibatchSize> train, validation;
};

// Every size, with training's full size first. `train` and `validation`: how many micro-batches a
// mini-batch of either kind is cut into.
struct MinibatchParts {
  int train = 1, validation = 1;
};
std::vector<MicrobatchSize> microbatch_sizes(const MinibatchSizes& sizes, MinibatchParts parts);
// The most samples in that mode, at any lengths. 0: none.
int most_samples(std::span<const MicrobatchSize> sizes, Mode mode);

}  // namespace pipetrain
