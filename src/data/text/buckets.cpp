#include "data/text/buckets.hpp"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <map>
#include <utility>

#include "base/check.hpp"
#include "base/error.hpp"
#include "base/rng.hpp"

namespace pipetrain {

namespace {

Lengths bounds_of(const PairLength& pair, std::int64_t multiple) {
  const auto up = [&](std::int64_t length) {
    return (length + multiple - 1) / multiple * multiple;
  };
  return {up(pair.source), up(pair.target)};
}

void check(std::span<const PairLength> pairs, const BucketOptions& options) {
  PIPETRAIN_CHECK(!pairs.empty() && options.multiple > 0, "{} pairs, bounds of {}", pairs.size(),
                  options.multiple);
  PIPETRAIN_CHECK(options.max_tokens >= 0 && options.max_sentences >= 0 &&
                      options.max_tokens + options.max_sentences > 0,
                  "limits of {} tokens and {} sentences", options.max_tokens,
                  options.max_sentences);
  for (const PairLength& pair : pairs)
    PIPETRAIN_CHECK(pair.source > 0 && pair.target > 0, "line {}: {} and {} pieces", pair.line,
                    pair.source, pair.target);
}

void check_limit(std::span<const PairLength> pairs, const BucketOptions& options,
                 std::string_view source) {
  if (options.max_tokens == 0) return;
  const auto padded = [&](const PairLength& pair) {
    const Lengths bounds = bounds_of(pair, options.multiple);
    return bounds.source + bounds.target;
  };
  const auto over = std::ranges::find_if(
      pairs, [&](const PairLength& pair) { return padded(pair) > options.max_tokens; });
  if (over == pairs.end()) return;
  const Lengths bounds = bounds_of(*over, options.multiple);
  throw UsageError(fmt::format(
      "{}:{}: this pair alone has {} + {} tokens, {} + {} = {} with padding, which is more than "
      "the {} of a mini-batch; write at least {} for data.batch_tokens, or shorter sentences in "
      "the model",
      source, over->line, over->source, over->target, bounds.source, bounds.target, padded(*over),
      options.max_tokens, padded(*std::ranges::max_element(pairs, {}, padded))));
}

std::int64_t samples_of(const Lengths& bounds, const BucketOptions& options) {
  std::int64_t samples = std::numeric_limits<std::int64_t>::max();
  if (options.max_tokens > 0) samples = options.max_tokens / (bounds.source + bounds.target);
  if (options.max_sentences > 0) samples = std::min(samples, options.max_sentences);
  return samples;
}

template <class T>
void permute(std::span<T> values, Random& random) {
  for (std::size_t last = values.size(); last > 1; --last)
    std::swap(values[last - 1], values[random.below(last)]);
}

double padding_of(std::span<const PairLength> pairs, std::int64_t multiple) {
  std::int64_t tokens = 0, padded = 0;
  for (const PairLength& pair : pairs) {
    const Lengths bounds = bounds_of(pair, multiple);
    tokens += pair.source + pair.target;
    padded += bounds.source + bounds.target;
  }
  return 1 - static_cast<double>(tokens) / static_cast<double>(padded);
}

}  // namespace

BucketOrder::BucketOrder(std::span<const PairLength> pairs, const BucketOptions& options,
                         std::string_view source)
    : options_(options) {
  check(pairs, options);
  check_limit(pairs, options, source);
  std::map<Lengths, std::vector<SampleId>> by_bounds;
  for (std::size_t i = 0; i < pairs.size(); ++i)
    by_bounds[bounds_of(pairs[i], options.multiple)].push_back(static_cast<SampleId>(i));
  for (const auto& [bounds, members] : by_bounds) {
    const std::int64_t samples = samples_of(bounds, options);
    for (std::size_t done = 0; done < members.size();) {
      const std::size_t count = std::min(static_cast<std::size_t>(samples), members.size() - done);
      minibatches_.push_back({buckets_.size(), in_order_.size() + done, count});
      done += count;
    }
    buckets_.push_back({bounds, samples, std::ssize(members)});
    in_order_.insert(in_order_.end(), members.begin(), members.end());
  }
  shuffled_ = in_order_;
  dealt_ = minibatches_;
  padding_ = padding_of(pairs, options.multiple);
}

Minibatch BucketOrder::of(std::int64_t step) {
  PIPETRAIN_CHECK(step >= 0, "mini-batch {}", step);
  if (options_.shuffle) shuffle(step / steps_per_epoch());
  const Place& place = dealt_[step % steps_per_epoch()];
  return {buckets_[place.bucket].lengths, std::span(shuffled_).subspan(place.first, place.count)};
}

std::vector<MinibatchSize> BucketOrder::sizes() const {
  std::vector<MinibatchSize> sizes;
  const auto add = [&](std::int64_t samples, const Lengths& lengths) {
    if (samples > 0) sizes.push_back({samples, lengths});
  };
  for (const Bucket& bucket : buckets_) {
    if (bucket.pairs >= bucket.samples) add(bucket.samples, bucket.lengths);
    add(bucket.pairs % bucket.samples, bucket.lengths);
  }
  const auto tokens = [](const MinibatchSize& size) {
    return size.samples * (size.lengths.source + size.lengths.target);
  };
  std::ranges::stable_sort(sizes, std::greater{}, tokens);
  return sizes;
}

void BucketOrder::shuffle(std::int64_t epoch) {
  if (epoch == epoch_) return;
  epoch_ = epoch;
  Random random(options_.seed, hash_name("buckets") + static_cast<std::uint64_t>(epoch));
  std::ranges::copy(in_order_, shuffled_.begin());
  std::size_t first = 0;
  for (const Bucket& bucket : buckets_) {
    const auto count = static_cast<std::size_t>(bucket.pairs);
    permute(std::span(shuffled_).subspan(first, count), random);
    first += count;
  }
  std::ranges::copy(minibatches_, dealt_.begin());
  permute(std::span(dealt_), random);
}

}  // namespace pipetrain
