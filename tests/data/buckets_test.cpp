// Length buckets: their bounds, what a mini-batch holds at most, and an order that is a function of
// seed and epoch.
#include "data/text/buckets.hpp"

#include <algorithm>
#include <set>
#include <string>

#include "base/rng.hpp"
#include "catch.hpp"
#include "data_files.hpp"

using namespace pipetrain;
using namespace pipetrain::test;

namespace {

std::vector<PairLength> drawn(std::int64_t count, std::uint64_t seed) {
  Random random(seed, "lengths");
  std::vector<PairLength> pairs;
  for (std::int64_t i = 0; i < count; ++i) {
    const auto source = static_cast<std::int64_t>(1 + random.below(50));
    const auto target =
        std::max<std::int64_t>(1, source - 5 + static_cast<std::int64_t>(random.below(11)));
    pairs.push_back({source, target, i + 1});
  }
  return pairs;
}

struct Held {  // a mini-batch, copied
  Lengths lengths;
  std::vector<SampleId> samples;
  bool operator==(const Held&) const = default;
};

Held held(BucketOrder& order, std::int64_t step) {
  const auto minibatch = order.of(step);
  return {minibatch.lengths, {minibatch.samples.begin(), minibatch.samples.end()}};
}

std::size_t bucket_of(const BucketOrder& order, const Lengths& lengths) {
  const auto at = std::ranges::find(order.buckets(), lengths, &Bucket::lengths);
  return static_cast<std::size_t>(at - order.buckets().begin());
}

std::vector<Held> epoch(BucketOrder& order, std::int64_t number) {
  std::vector<Held> all;
  for (std::int64_t k = 0; k < order.steps_per_epoch(); ++k)
    all.push_back(held(order, number * order.steps_per_epoch() + k));
  return all;
}

// Checks only what must hold for any order, not how well it fills the drawn limits.
void check_epoch(const std::vector<PairLength>& pairs, const BucketOptions& options,
                 const BucketOrder& order, const std::vector<Held>& minibatches) {
  std::vector<int> seen(pairs.size());
  std::vector<std::int64_t> ragged(order.buckets().size()), of_bucket(order.buckets().size());
  int wrong = 0;
  for (const Held& minibatch : minibatches) {
    const std::size_t b = bucket_of(order, minibatch.lengths);
    const Bucket& bucket = order.buckets()[b];
    const auto [source, target] = bucket.lengths;
    const std::int64_t samples = std::ssize(minibatch.samples);
    wrong += samples == 0 || samples > bucket.samples;
    wrong += options.max_tokens > 0 && samples * (source + target) > options.max_tokens;
    wrong += options.max_sentences > 0 && samples > options.max_sentences;
    ragged[b] += samples < bucket.samples;
    of_bucket[b] += samples;
    for (const SampleId id : minibatch.samples) {
      const PairLength& pair = pairs[static_cast<std::size_t>(id)];
      ++seen[static_cast<std::size_t>(id)];
      wrong += pair.source > source || pair.source <= source - options.multiple;
      wrong += pair.target > target || pair.target <= target - options.multiple;
    }
  }
  CHECK(wrong == 0);
  CHECK(std::ranges::all_of(seen, [](int times) { return times == 1; }));
  CHECK(std::ranges::all_of(ragged, [](std::int64_t count) { return count <= 1; }));
  for (std::size_t i = 0; i < of_bucket.size(); ++i)
    CHECK(of_bucket[i] == order.buckets()[i].pairs);
}

}  // namespace

TEST_CASE("buckets: bounds are multiples, mini-batches fill the limit", "[buckets]") {
  const std::vector<PairLength> pairs = {{1, 8, 1}, {8, 1, 2}, {9, 8, 3}, {16, 7, 4}, {3, 3, 5}};
  BucketOrder order(pairs, {.max_tokens = 32, .shuffle = false}, "a.de");
  CHECK(order.buckets() == std::vector<Bucket>{{{8, 8}, 2, 3}, {{16, 8}, 1, 2}});
  CHECK(epoch(order, 0) ==
        std::vector<Held>{{{8, 8}, {0, 1}}, {{8, 8}, {4}}, {{16, 8}, {2}}, {{16, 8}, {3}}});
  CHECK(epoch(order, 0) == epoch(order, 1));
  // 64 of 96 tokens are not padding: 9 + 9 + 17 + 23 + 6.
  CHECK(order.padding() == Approx(1 - 64.0 / 96));
}

TEST_CASE("buckets: a limit of sentences, and both limits", "[buckets]") {
  const std::vector<PairLength> pairs = {{4, 4, 1}, {4, 4, 2}, {4, 4, 3}, {30, 30, 4}, {30, 30, 5}};
  BucketOrder sentences(pairs, {.max_sentences = 2, .shuffle = false}, "a.de");
  CHECK(sentences.buckets() == std::vector<Bucket>{{{8, 8}, 2, 3}, {{32, 32}, 2, 2}});
  CHECK(sentences.steps_per_epoch() == 3);
  BucketOrder both(pairs, {.max_tokens = 64, .max_sentences = 2, .shuffle = false}, "a.de");
  CHECK(both.buckets() == std::vector<Bucket>{{{8, 8}, 2, 3}, {{32, 32}, 1, 2}});
  CHECK(both.steps_per_epoch() == 4);
}

TEST_CASE("buckets: with multiples of 1 nothing is padding", "[buckets]") {
  const BucketOrder order(drawn(200, 1), {.max_tokens = 400, .multiple = 1}, "a.de");
  CHECK(order.padding() == 0);
}

TEST_CASE("buckets: each pair once an epoch, and no mini-batch over a limit", "[buckets]") {
  for (std::uint64_t seed = 0; seed < 12; ++seed) {
    const auto pairs = drawn(1 + static_cast<std::int64_t>(seed * seed * 20), seed);
    for (const BucketOptions& options :
         {BucketOptions{.max_tokens = 128}, BucketOptions{.max_tokens = 1000, .multiple = 16},
          BucketOptions{.max_sentences = 7}, BucketOptions{.max_sentences = 3, .multiple = 5},
          BucketOptions{.max_tokens = 500, .max_sentences = 4, .multiple = 1},
          BucketOptions{.max_tokens = 300, .shuffle = false}}) {
      BucketOptions keyed = options;
      keyed.seed = seed;
      BucketOrder order(pairs, keyed, "a.de");
      CAPTURE(seed, options.max_tokens, options.max_sentences, options.multiple);
      for (const std::int64_t e : {0, 1, 7}) check_epoch(pairs, options, order, epoch(order, e));
    }
  }
}

TEST_CASE("buckets: the order depends on the seed and the epoch alone", "[buckets]") {
  const auto pairs = drawn(500, 3);
  const BucketOptions options{.max_tokens = 256, .seed = 1};
  BucketOrder a(pairs, options, "a.de"), b(pairs, options, "a.de");
  BucketOrder other(pairs, {.max_tokens = 256, .seed = 2}, "a.de");
  epoch(b, 5);  // whatever was asked before
  CHECK(epoch(a, 0) == epoch(b, 0));
  CHECK(epoch(a, 3) == epoch(b, 3));
  CHECK(epoch(a, 0) != epoch(a, 1));
  CHECK(epoch(a, 0) != epoch(other, 0));
  std::vector<Held> backward;
  for (std::int64_t k = a.steps_per_epoch(); k-- > 0;) backward.push_back(held(b, k));
  std::ranges::reverse(backward);
  CHECK(backward == epoch(a, 0));
}

TEST_CASE("buckets: both the pairs of a bucket and the mini-batches are shuffled", "[buckets]") {
  const auto pairs = drawn(500, 4);
  BucketOrder order(pairs, {.max_tokens = 256}, "a.de");
  std::vector<Lengths> buckets;
  std::set<std::set<SampleId>> first, second;
  for (const Held& minibatch : epoch(order, 0)) {
    buckets.push_back(minibatch.lengths);
    first.insert({minibatch.samples.begin(), minibatch.samples.end()});
  }
  for (const Held& minibatch : epoch(order, 1))
    second.insert({minibatch.samples.begin(), minibatch.samples.end()});
  CHECK_FALSE(std::ranges::is_sorted(buckets));
  CHECK(first != second);  // other mini-batches, not the same ones in another order
}

TEST_CASE("buckets: every pair is first of its bucket equally often", "[buckets]") {
  const std::vector<PairLength> pairs = {{3, 3, 1}, {3, 3, 2}, {3, 3, 3}, {3, 3, 4}};
  BucketOrder order(pairs, {.max_sentences = 4, .seed = 3}, "a.de");
  std::vector<int> first(4);
  for (std::int64_t e = 0; e < 4000; ++e) ++first[static_cast<std::size_t>(order.of(e).samples[0])];
  for (const int count : first) CHECK(count == Approx(1000).margin(120));
}

TEST_CASE("buckets: a pair over the limit is named with its line and its tokens", "[buckets]") {
  const std::vector<PairLength> pairs = {{3, 3, 1}, {13, 17, 12}, {30, 9, 40}};
  const auto said =
      message_of<UsageError>([&] { BucketOrder(pairs, {.max_tokens = 39}, "train.de"); });
  CHECK(contains(said, "train.de:12: "));
  CHECK(contains(said, "13 + 17 tokens, 16 + 24 = 40 with padding"));
  CHECK(contains(said, "the 39 of a mini-batch"));
  CHECK(contains(said, "at least 48"));  // of line 40
  BucketOrder fits(pairs, {.max_tokens = 48}, "train.de");
  CHECK(fits.steps_per_epoch() == 3);
}
