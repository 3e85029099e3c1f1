// What is said about a step whose numbers are not finite.
#include "run/divergence.hpp"

#include <spdlog/fmt/fmt.h>

#include <cmath>
#include <limits>

#include "base/error.hpp"
#include "catch.hpp"
#include "graph/graph.hpp"
#include "run/run_rig.hpp"

using namespace pipetrain;
using namespace pipetrain::testing;

namespace {

constexpr double kInfinite = std::numeric_limits<double>::infinity();

// Samples of six numbers each; one has a NaN.
class SpoiltData : public Dataset {
 public:
  SampleId spoilt = 0;

  std::int64_t size() const override { return 32; }
  const Shape& input_shape() const override { return shape_; }
  int classes() const override { return 3; }
  const Shape& target_shape() const override { return none_; }
  void read(const SampleRequest& which, const Sample& to) const override {
    for (int i = 0; i < 6; ++i) to.input[i] = 1;
    if (which.index == spoilt) to.input[2] = std::nanf("");
    if (to.classes) to.classes[0] = 0;
  }

 private:
  Shape shape_{{6}}, none_;
};

struct DivergedStep {
  // Sums of squares of fc1's weight and bias, then fc2's.
  void check(const std::vector<double>& sums, double loss) {
    const StepRecord record{.step = 1, .lr = 0.1, .stages = {}, .sums_of_squares = sums};
    StepSummary summary;
    summary.step = 2;
    summary.loss = loss;
    summary.grad_norm = std::sqrt(record.squared_norm());
    check_divergence({rig.config(), rig.graph(), rig.plan(), data ? *data : *rig.data().train},
                     record, summary);
  }
  RunRig rig;
  const Dataset* data = nullptr;
};

}  // namespace

TEST_CASE("finite numbers are not a divergence", "[divergence]") {
  DivergedStep step;
  CHECK_NOTHROW(step.check({1, 1, 1, 1}, 2));
}

TEST_CASE("under skip no number is a divergence, nor is the loss alone", "[divergence]") {
  DivergedStep step{.rig = RunRig({"training.on_nonfinite=skip"}), .data = nullptr};
  CHECK_NOTHROW(step.check({1, kInfinite, 1, 1}, std::nan("")));
  CHECK_NOTHROW(step.check({1, 1, 1, 1}, kInfinite));
}

TEST_CASE("a divergence names the first gradient that is not finite", "[divergence]") {
  DivergedStep step;
  CHECK_THROWS_AS(step.check({1, 1, kInfinite, kInfinite}, 2), DivergedError);
  CHECK_THROWS_WITH(step.check({1, 1, kInfinite, kInfinite}, 2),
                    Contains("training diverged at step 2") &&
                        Contains("fc2.weight, layer \"fc2\" on stage 1") &&
                        !Contains("training sample"));
  CHECK_THROWS_WITH(step.check({1, std::nan(""), 1, 1}, 2),
                    Contains("fc1.bias, layer \"fc1\" on stage 0"));
}

TEST_CASE("a divergence of the loss alone says so", "[divergence]") {
  DivergedStep step;
  CHECK_THROWS_WITH(step.check({1, 1, 1, 1}, std::nan("")), Contains("only the loss is not"));
}

TEST_CASE("a divergence names the samples that are not finite themselves", "[divergence]") {
  DivergedStep step;
  SpoiltData data;
  step.data = &data;
  const auto order = data.order(training_order(step.rig.config()));
  data.spoilt = order->of(1).samples.back();  // in the second mini-batch, which diverged
  CHECK_THROWS_WITH(step.check({1, 1, 1, 1}, kInfinite),
                    Contains(fmt::format("first training sample {} (from 0)", data.spoilt)));
  data.spoilt = order->of(0).samples.front();
  CHECK_THROWS_WITH(step.check({1, 1, 1, 1}, kInfinite), !Contains("training sample"));
}
