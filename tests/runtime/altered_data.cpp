#include "altered_data.hpp"
#include "graph/graph.hpp"

namespace pipetrain::testing {
namespace {

class AlteredData final : public Dataset {
 public:
  AlteredData(std::unique_ptr<const Dataset> real, std::function<void(std::int64_t, float*)> alter)
      : real_(std::move(real)), alter_(std::move(alter)) {}
  std::int64_t size() const override { return real_->size(); }
  const Shape& input_shape() const override { return real_->input_shape(); }
  int classes() const override { return real_->classes(); }
  const Shape& target_shape() const override { return real_->target_shape(); }
  std::int64_t labels() const override { return real_->labels(); }
  void read(const SampleRequest& which, const Sample& to) const override {
    real_->read(which, to);
    alter_(which.index, to.input);
  }

 private:
  std::unique_ptr<const Dataset> real_;
  std::function<void(std::int64_t, float*)> alter_;
};

}  // namespace

std::unique_ptr<const Dataset> altered_data(std::unique_ptr<const Dataset> real,
                                            std::function<void(std::int64_t, float*)> alter) {
  return std::make_unique<AlteredData>(std::move(real), std::move(alter));
}

}  // namespace pipetrain::testing
