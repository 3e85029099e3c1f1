// Mini-batches of sentences of similar length, so that little of them is padding.
//
// A pair of sentences is in the bucket whose two bounds are the pair's lengths, each rounded up to
// a multiple: with multiple = 8, a pair of 13 and 17 pieces is in the bucket (16, 24), and is
// padded to that. A mini-batch is taken from a single bucket. All mini-batches of a bucket have
// `samples` pairs, except one that holds the rest.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "data/minibatch_order.hpp"

namespace pipetrain {

struct PairLength {  // in pieces, as trained on: including the end piece
  std::int64_t source = 0, target = 0;
  std::int64_t line = 0;  // of the pair in its files, from 1, for messages
};

// At least one of the limits must be above 0; if both are, both apply.
struct BucketOptions {
  std::int64_t max_tokens = 0;     // per mini-batch: samples * (source bound + target bound)
  std::int64_t max_sentences = 0;  // pairs in a mini-batch
  std::int64_t multiple = 8;       // bounds are multiples of this
  bool shuffle = true;
  std::uint64_t seed = 1;
};

struct Bucket {
  Lengths lengths;           // bounds: to which the sentences of a mini-batch are padded
  std::int64_t samples = 0;  // in a full mini-batch
  std::int64_t pairs = 0;    // in the bucket
  bool operator==(const Bucket&) const = default;
};

// Every epoch holds each pair once, and has the same number of mini-batches. If shuffled, each
// epoch distributes the pairs of a bucket over mini-batches again, and puts the mini-batches of all
// buckets in a new order (Fisher-Yates, keyed by seed and epoch). If not, the buckets come from the
// shortest to the longest (source before target), and their pairs in the order of the files.
class BucketOrder final : public MinibatchOrder {
 public:
  // UsageError if a single pair exceeds the limit: "source:line: ...", with its pieces and the
  // least limit that accepts every pair.
  BucketOrder(std::span<const PairLength> pairs, const BucketOptions& options,
              std::string_view source);

  // Ordered by their bounds; none is empty.
  const std::vector<Bucket>& buckets() const { return buckets_; }
  std::int64_t steps_per_epoch() const override {
    return static_cast<std::int64_t>(minibatches_.size());
  }
  Minibatch of(std::int64_t step) override;  // its samples are numbers of pairs
  std::vector<MinibatchSize> sizes() const override;

  // The share of padding among an epoch's tokens, over both sides: 0..1.
  double padding() const { return padding_; }

 private:
  struct Place {  // of a mini-batch: consecutive pairs of a bucket
    std::size_t bucket;
    std::size_t first, count;
  };
  void shuffle(std::int64_t epoch);

  BucketOptions options_;
  std::vector<Bucket> buckets_;
  std::vector<SampleId> in_order_, shuffled_;  // pairs, bucket by bucket
  std::vector<Place> minibatches_, dealt_;     // unshuffled; of the current epoch
  std::int64_t epoch_ = -1;                    // the epoch that shuffled_ and dealt_ belong to
  double padding_ = 0;
};

}  // namespace pipetrain
