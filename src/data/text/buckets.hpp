// Mini-batches of sentences that are about as long as each other, so that little of them is
// padding.
//
// A pair of sentences is in the bucket whose two bounds are its lengths, each rounded up to a
// multiple: with multiple = 8 a pair of 13 and 17 pieces is in the bucket (16, 24), and is padded
// to that. Each mini-batch is of one bucket. All of a bucket's are of `samples` pairs, but for one
// that holds the rest.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "data/minibatch_order.hpp"

namespace pipetrain {

struct PairLength {  // of a pair, in pieces as they are trained on: with the one that ends a
                     // sentence
  std::int64_t source = 0, target = 0;
  std::int64_t line = 0;  // of the pair in its files, from 1, for messages
};

// At least one of the limits is above 0; where both are, both hold.
struct BucketOptions {
  std::int64_t max_tokens = 0;     // of a mini-batch, over both sides and with padding:
                                   // samples * (source bound + target bound)
  std::int64_t max_sentences = 0;  // of a mini-batch: pairs
  std::int64_t multiple = 8;       // that bounds are of
  bool shuffle = true;
  std::uint64_t seed = 1;
};

struct Bucket {
  Lengths lengths;           // bounds: what the sentences of a mini-batch are padded to
  std::int64_t samples = 0;  // of a full mini-batch
  std::int64_t pairs = 0;    // in the bucket
  bool operator==(const Bucket&) const = default;
};

// Every epoch holds each pair once, in the same number of mini-batches. Shuffled, each
// epoch deals the pairs of a bucket out again, and puts the mini-batches of all buckets in a new
// order (Fisher-Yates, keyed by seed and epoch). Not shuffled, the buckets come from the shortest
// to the longest (source before target), with their pairs in the order of the files.
class BucketOrder final : public MinibatchOrder {
 public:
  // UsageError where one pair alone is over the limit: "source:line: ...", with its pieces and the
  // least limit that takes every pair.
  BucketOrder(std::span<const PairLength> pairs, const BucketOptions& options,
              std::string_view source);

  // In the order of their bounds; none is empty.
  const std::vector<Bucket>& buckets() const { return buckets_; }
  std::int64_t steps_per_epoch() const override {
    return static_cast<std::int64_t>(minibatches_.size());
  }
  Minibatch of(std::int64_t step) override;  // samples: numbers of pairs
  std::vector<MinibatchSize> sizes() const override;

  // The share of an epoch's tokens, over both sides, that are padding: 0..1.
  double padding() const { return padding_; }

 private:
  struct Place {  // of a mini-batch: a stretch of the pairs of a bucket
    std::size_t bucket;
    std::size_t first, count;
  };
  void shuffle(std::int64_t epoch);

  BucketOptions options_;
  std::vector<Bucket> buckets_;
  std::vector<SampleId> in_order_, shuffled_;  // by bucket
  std::vector<Place> minibatches_, dealt_;     // in order; of the epoch
  std::int64_t epoch_ = -1;                    // that shuffled_ and dealt_ are of
  double padding_ = 0;
};

}  // namespace pipetrain
