// A model of two sides and sentences for it, of many lengths, in mini-batches by length.
#pragma once

#include <algorithm>
#include <memory>
#include <vector>

#include "data/dataset.hpp"
#include "data/text/buckets.hpp"
#include "graph/graph.hpp"

namespace pipetrain::testing {

inline constexpr std::int64_t kLongest = 16, kVocabulary = 7;

// Both sides have learned positions, of which short sentences read the first rows. Token 0 pads.
inline const char* const two_sided = R"(
name = "two-sided"
input = { source = 16, target = 16, vocabulary = 7 }
layers = [
  { name = "read", kind = "embedding", embedding_dim = 8, inputs = ["source"] },
  { name = "places", kind = "learned_positions" },
  { name = "keys", kind = "linear", out_features = 16 },
  { name = "write", kind = "embedding", embedding_dim = 8, inputs = ["target"] },
  { name = "places2", kind = "learned_positions" },
  { name = "qkv", kind = "linear", out_features = 24 },
  { name = "own", kind = "attention", heads = 2, causal = true },
  { name = "cross", kind = "attention", heads = 2, padding = 0, inputs = ["own", "keys", "source"] },
  { name = "sum", kind = "add", inputs = ["cross", "places2"] },
  { name = "head", kind = "linear", out_features = 7 },
]
)";

// Sentence i has 1 + 3 i mod 15 source tokens and 1 + 5 i mod 15 target tokens; the labels are the
// target's.
class Sentences final : public Dataset {
 public:
  Sentences(std::int64_t size, std::int64_t multiple) : multiple_(multiple) {
    for (std::int64_t i = 0; i < size; ++i)
      lengths_.push_back({1 + 3 * i % 15, 1 + 5 * i % 15, i + 1});
  }
  std::int64_t size() const override { return std::ssize(lengths_); }
  const Shape& input_shape() const override { return shape_; }
  int classes() const override { return kVocabulary; }
  std::int64_t labels() const override { return kLongest; }
  const Shape& target_shape() const override { return no_target_; }
  void read(const SampleRequest& which, const Sample& to) const override {
    const PairLength& length = lengths_[static_cast<std::size_t>(which.index)];
    const auto [source, target] = which.lengths;
    std::fill_n(to.tokens, source + target, 0);
    std::fill_n(to.classes, target, kNoLabel);
    for (std::int64_t t = 0; t < length.source; ++t)
      to.tokens[t] = static_cast<std::int32_t>(1 + (which.index + t) % 6);
    for (std::int64_t t = 0; t < length.target; ++t) {
      to.tokens[source + t] = static_cast<std::int32_t>(1 + (which.index + 2 * t) % 6);
      to.classes[t] = static_cast<std::int32_t>(1 + (which.index + 2 * t + 2) % 6);
    }
  }
  std::unique_ptr<MinibatchOrder> order(const OrderOptions& options) const override {
    return std::make_unique<BucketOrder>(lengths_,
                                         BucketOptions{.max_sentences = options.batch_size,
                                                       .multiple = multiple_,
                                                       .shuffle = options.shuffle,
                                                       .seed = options.seed},
                                         "test");
  }

 private:
  std::int64_t multiple_;
  std::vector<PairLength> lengths_;
  Shape shape_{{2 * kLongest}, kVocabulary}, no_target_;
};

}  // namespace pipetrain::testing
