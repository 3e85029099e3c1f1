#include "compile/microbatch_size.hpp"

#include <algorithm>

namespace pipetrain {

SamplePart sample_part(int samples, int parts, int index) {
  const int size = samples / parts, larger = samples % parts;
  return {index * size + std::min(index, larger), size + (index < larger ? 1 : 0)};
}

std::vector<MicrobatchSize> microbatch_sizes(const MinibatchSizes& minibatches,
                                             MinibatchParts parts) {
  std::vector<MicrobatchSize> sizes;
  const auto add = [&](const MinibatchSize& minibatch, int count_of, Mode mode) {
    for (const int part : {0, count_of - 1}) {
      const int count = sample_part(static_cast<int>(minibatch.samples), count_of, part).count;
      const MicrobatchSize size{count, mode, minibatch.lengths};
      if (count > 0 && std::ranges::count(sizes, size) == 0) sizes.push_back(size);
    }
  };
  for (const MinibatchSize& size : minibatches.train) add(size, parts.train, Mode::Train);
  for (const MinibatchSize& size : minibatches.validation)
    add(size, parts.validation, Mode::Evaluate);
  return sizes;
}

int most_samples(std::span<const MicrobatchSize> sizes, Mode mode) {
  int most = 0;
  for (const MicrobatchSize& size : sizes)
    if (size.mode == mode) most = std::max(most, size.samples);
  return most;
}

}  // namespace pipetrain
