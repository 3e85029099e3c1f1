#include "data/sample_order.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "base/check.hpp"
#include "base/rng.hpp"

namespace pipetrain {

SampleOrder::SampleOrder(std::int64_t samples, const OrderOptions& options)
    : samples_(samples), options_(options), permutation_(samples) {
  PIPETRAIN_CHECK(samples > 0 && options.batch_size > 0, "{} samples, mini-batches of {}", samples,
                  options.batch_size);
  steps_per_epoch_ =
      (samples + (options.drop_last ? 0 : options.batch_size - 1)) / options.batch_size;
  PIPETRAIN_CHECK(steps_per_epoch_ > 0,
                  "drop_last leaves nothing of {} samples in mini-batches of {}", samples,
                  options.batch_size);
  std::iota(permutation_.begin(), permutation_.end(), SampleId{0});
}

Minibatch SampleOrder::of(std::int64_t step) {
  PIPETRAIN_CHECK(step >= 0, "mini-batch {}", step);
  if (options_.shuffle) permute(step / steps_per_epoch_);
  const std::int64_t first = step % steps_per_epoch_ * options_.batch_size;
  const std::int64_t count = std::min(options_.batch_size, samples_ - first);
  return {{}, std::span(permutation_).subspan(first, static_cast<std::size_t>(count))};
}

std::vector<MinibatchSize> SampleOrder::sizes() const {
  std::vector<MinibatchSize> sizes{{std::min(options_.batch_size, samples_), {}}};
  const std::int64_t rest = samples_ % options_.batch_size;
  if (rest > 0 && rest < samples_ && !options_.drop_last) sizes.push_back({rest, {}});
  return sizes;
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
