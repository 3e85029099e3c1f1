// A part of a data set: `train_range` and `validation_range`.
#include <utility>

#include "base/check.hpp"
#include "data/formats.hpp"

namespace pipetrain {

namespace {

class Slice final : public Dataset {
 public:
  Slice(std::shared_ptr<const Dataset> whole, SampleRange range)
      : whole_(std::move(whole)), range_(range) {
    PIPETRAIN_CHECK(0 <= range.first && range.first < range.last && range.last <= whole_->size(),
                    "samples {} to {} of {}", range.first, range.last, whole_->size());
  }
  std::int64_t size() const override { return range_.last - range_.first; }
  const Shape& input_shape() const override { return whole_->input_shape(); }
  int classes() const override { return whole_->classes(); }
  const Shape& target_shape() const override { return whole_->target_shape(); }
  std::int64_t labels() const override { return whole_->labels(); }
  void read(const SampleRequest& which, const Sample& to) const override {
    whole_->read({range_.first + which.index, which.step, which.lengths}, to);
  }

 private:
  std::shared_ptr<const Dataset> whole_;
  SampleRange range_;
};

}  // namespace

std::unique_ptr<const Dataset> slice(std::shared_ptr<const Dataset> whole, SampleRange range) {
  return std::make_unique<Slice>(std::move(whole), range);
}

}  // namespace pipetrain
