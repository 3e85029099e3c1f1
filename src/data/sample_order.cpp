#include "data/sample_order.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "base/check.hpp"
#include "base/rng.hpp"

namespace pipetrain {

SampleOrder::SampleOrder(const SampleOrderOptions& options)
    : options_(options), permutation_(static_cast<std::size_t>(options.samples)) {
  PIPETRAIN_CHECK(options.samples > 0 && options.batch_size > 0, "{} samples, mini-batches of {}",
                  options.samples, options.batch_size);
  steps_per_epoch_ =
      (options.samples + (options.drop_last ? 0 : options.batch_size - 1)) / options.batch_size;
  PIPETRAIN_CHECK(steps_per_epoch_ > 0,
                  "drop_last leaves nothing of {} samples in mini-batches of {}", options.samples,
                  options.batch_size);
  std::iota(permutation_.begin(), permutation_.end(), SampleId{0});
}

std::span<const SampleId> SampleOrder::of(std::int64_t step) {
  PIPETRAIN_CHECK(step >= 0, "mini-batch {}", step);
  if (options_.shuffle) permute(step / steps_per_epoch_);
  const std::int64_t first = step % steps_per_epoch_ * options_.batch_size;
  const std::int64_t count = std::min(options_.batch_size, options_.samples - first);
  return std::span(permutation_)
      .subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(count));
}

void SampleOrder::permute(std::int64_t epoch) {
  if (epoch == epoch_) return;
  epoch_ = epoch;
  std::iota(permutation_.begin(), permutation_.end(), SampleId{0});
  Random random(options_.seed, hash_name("shuffle") + static_cast<std::uint64_t>(epoch));
  for (std::size_t last = permutation_.size(); last > 1; --last)
    std::swap(permutation_[last - 1], permutation_[random.below(last)]);
}

}  // namespace pipetrain
