#include "data/text/sentence_pairs.hpp"

#include <algorithm>
#include <utility>

#include "data/text/buckets.hpp"
#include "graph/loss.hpp"

namespace pipetrain {
namespace {

class SentencePairs final : public Dataset {
 public:
  SentencePairs(PairsInput input, std::vector<SampleId> picked)
      : in_(std::move(input)), picked_(std::move(picked)) {
    const std::vector<PairLength> all = in_.text->lengths();
    for (const SampleId pair : picked_) lengths_.push_back(all[pair]);
    (void)order({});  // refuses pairs over the limit
  }

  std::int64_t size() const override { return std::ssize(picked_); }
  const Shape& input_shape() const override { return in_.input; }
  int classes() const override { return in_.classes; }
  std::int64_t labels() const override { return in_.labels; }
  const Shape& target_shape() const override { return no_target_; }

  void read(const SampleRequest& which, const Sample& to) const override {
    const SampleId pair = picked_[which.index];
    const auto source = in_.text->source(pair), target = in_.text->target(pair);
    const Pieces& pieces = *in_.pieces;
    const auto [source_length, target_length] = which.lengths;
    std::int32_t* const input = to.tokens + source_length;
    std::fill_n(to.tokens, source_length + target_length, pieces.pad());
    std::fill_n(to.classes, target_length, kNoLabel);
    *std::ranges::copy(source, to.tokens).out = pieces.end();
    input[0] = pieces.begin();
    std::ranges::copy(target, input + 1);
    *std::ranges::copy(target, to.classes).out = pieces.end();
  }

  std::unique_ptr<MinibatchOrder> order(const OrderOptions& options) const override {
    const BucketOptions buckets{.max_tokens = in_.limits.tokens,
                                .max_sentences = in_.limits.tokens > 0 ? 0 : options.batch_size,
                                .multiple = in_.limits.multiple,
                                .shuffle = options.shuffle,
                                .seed = options.seed};
    return std::make_unique<BucketOrder>(lengths_, buckets, in_.source);
  }

 private:
  PairsInput in_;
  std::vector<SampleId> picked_;
  std::vector<PairLength> lengths_;
  Shape no_target_;
};

}  // namespace

std::unique_ptr<const Dataset> sentence_pairs(PairsInput input, std::vector<SampleId> picked) {
  return std::make_unique<SentencePairs>(std::move(input), std::move(picked));
}

}  // namespace pipetrain
