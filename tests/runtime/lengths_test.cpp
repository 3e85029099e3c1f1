// Mini-batches whose sequences are as long as their bucket: one model, whatever the cut, the worker
// and the lengths that sentences are padded to.
#include <algorithm>
#include <cmath>

#include "backends.hpp"
#include "catch.hpp"
#include "data/text/buckets.hpp"
#include "training.hpp"

using namespace pipetrain;
using namespace pipetrain::testing;

namespace {

constexpr std::int64_t kLongest = 16, kVocabulary = 7;

// Both sides have learned positions, of which short sentences read the first rows. Token 0 pads.
const char* const two_sided = R"(
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

Config config_of(const ConfigChoice& choice) {
  Config config = make_config(choice);
  config.data.batch_size = 5;
  config.validation.batch_size = 3;
  config.optimizer.lr = 0.2;
  return config;
}

Trained run(const Config& config, const Sentences& data, std::int64_t steps = 40) {
  return train(
      {.model = two_sided, .config = config, .steps = steps, .evaluate = true, .data = &data});
}

}  // namespace

TEST_CASE("lengths: no cut and no kind of worker changes a bit", "[backends]") {
  const std::string backend = GENERATE(from_range(backend_names()));
  const bool quick = backend != "cuda";  // the device may be a slow one, of software
  const Sentences data(quick ? 31 : 7, 8);
  const auto run_on = [&](int stages, const std::string& workers, const std::string& recompute) {
    Config config =
        config_of({.stages = stages, .microbatches = 2, .workers = workers, .backend = backend});
    config.pipeline.recompute = word_named<Recompute>(recompute).value();
    return run(config, data, quick ? 12 : 2);
  };
  const Trained one = run_on(1, "inline", "none");
  CHECK(one.after.loss < one.before.loss);
  for (const int stages : quick ? std::vector{2, 4, 7} : std::vector{4})
    for (const std::string workers : {"threads", "inline"})
      for (const std::string recompute : {"none", "stage"}) {
        if (!quick && (workers == "inline") != (recompute == "stage")) continue;
        INFO(backend << " " << stages << " " << workers << " " << recompute);
        const Trained many = run_on(stages, workers, recompute);
        CHECK(many.losses == one.losses);
        CHECK(many.after.loss == one.after.loss);
        CHECK(same_bits(many.parameters, one.parameters));
        for (std::size_t s = 0; s < many.predicted.size(); ++s)
          CHECK(many.predicted[s] == many.measured[s]);
      }
}

TEST_CASE("lengths: every schedule trains over all of them", "[lengths]") {
  const std::string schedule = GENERATE("gpipe", "zb_h1", "pipedream", "pipedream_2bw", "pipemare",
                                        "timeprest", "v_timeprest", "i_timeprest");
  const Sentences data(31, 8);
  Config config = config_of({.stages = 3, .microbatches = 3, .schedule = schedule});
  config.optimizer.lr = 0.02;
  const Trained trained = run(config, data, 120);
  CHECK(trained.after.loss < trained.before.loss);
}

// One mini-batch of all sentences: only what they are padded to differs.
TEST_CASE("lengths: more padding changes nothing", "[lengths]") {
  const std::string backend = GENERATE("reference", "cpu");
  Config config = config_of({.microbatches = 1, .backend = backend});
  config.data.batch_size = config.validation.batch_size = 64;
  config.data.shuffle = false;
  const auto padded_to = [&](std::int64_t multiple) {
    // a single sentence, of one token on either side
    return run(config, Sentences(1, multiple), 3);
  };
  const Trained least = padded_to(1), most = padded_to(16);
  CHECK(least.before.loss == Approx(most.before.loss).epsilon(1e-6));
  CHECK(least.after.loss == Approx(most.after.loss).epsilon(1e-5));
  CHECK(least.before.accuracy == most.before.accuracy);
}

TEST_CASE("lengths: the loss is the mean over the tokens of a mini-batch", "[lengths]") {
  // Five micro-batches of one sentence each, and one of all: the same sum, the same mean.
  const Sentences data(31, 16);
  const auto cut_in = [&](int microbatches) {
    return run(config_of({.microbatches = microbatches}), data, 8);
  };
  const Trained whole = cut_in(1), parts = cut_in(5);
  for (const auto& [name, tensor] : whole.parameters) {
    const auto &a = std::get<std::vector<float>>(tensor.values),
               &b = std::get<std::vector<float>>(parts.parameters.at(name).values);
    double worst = 0;
    for (std::size_t i = 0; i < a.size(); ++i)
      worst = std::max<double>(worst, std::abs(a[i] - b[i]));
    INFO(name);
    CHECK(worst < 1e-5);
  }
  CHECK(whole.after.loss == Approx(parts.after.loss).epsilon(1e-5));
}
