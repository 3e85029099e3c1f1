#include "data/split.hpp"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include "base/check.hpp"
#include "base/error.hpp"
#include "base/rng.hpp"

namespace pipetrain {

namespace {

class Picked final : public Dataset {
 public:
  Picked(std::shared_ptr<const Dataset> whole, std::vector<SampleId> picked)
      : whole_(std::move(whole)), picked_(std::move(picked)) {}
  std::int64_t size() const override { return static_cast<std::int64_t>(picked_.size()); }
  const Shape& input_shape() const override { return whole_->input_shape(); }
  int classes() const override { return whole_->classes(); }
  const Shape& target_shape() const override { return whole_->target_shape(); }
  std::int64_t labels() const override { return whole_->labels(); }
  void read(const SampleRequest& which, const Sample& to) const override {
    whole_->read({picked_[which.index], which.step}, to);
  }

 private:
  std::shared_ptr<const Dataset> whole_;
  std::vector<SampleId> picked_;
};

}  // namespace

// The first draws of a Fisher-Yates shuffle, then both parts in the order of the files.
SampleSplit split_samples(std::int64_t samples, const SplitChoice& choice) {
  PIPETRAIN_CHECK(samples >= 2 && choice.fraction > 0 && choice.fraction < 1,
                  "{} samples, of which {} for validation", samples, choice.fraction);
  const auto wanted = static_cast<std::int64_t>(static_cast<double>(samples) * choice.fraction);
  const auto kept = std::clamp<std::int64_t>(wanted, 1, samples - 1);
  std::vector<SampleId> all(samples);
  std::iota(all.begin(), all.end(), SampleId{0});
  Random random(choice.seed, "validation split");
  for (std::size_t i = 0; i < static_cast<std::size_t>(kept); ++i)
    std::swap(all[i], all[i + random.below(all.size() - i)]);
  SampleSplit split{{all.begin() + kept, all.end()}, {all.begin(), all.begin() + kept}};
  std::ranges::sort(split.train);
  std::ranges::sort(split.validation);
  return split;
}

SampleSplit split_as_configured(std::int64_t samples, const DataConfig& config) {
  if (samples < 2)
    throw UsageError(fmt::format(
        "data.validation_fraction = {} needs 2 samples or more, and the files hold {}; leave it "
        "out, or name other files",
        config.validation_fraction, samples));
  return split_samples(samples, {config.validation_fraction, config.validation_seed});
}

std::unique_ptr<const Dataset> pick(std::shared_ptr<const Dataset> whole,
                                    std::vector<SampleId> picked) {
  return std::make_unique<Picked>(std::move(whole), std::move(picked));
}

}  // namespace pipetrain
