// The learning rate of each mini-batch, by hand.
#include "stage/learning_rate.hpp"

#include <cmath>

#include "catch.hpp"

using namespace pipetrain;

namespace {

struct Choice {
  LrKind kind = LrKind::Constant;
  std::int64_t warmup_steps = 0;
  std::vector<std::int64_t> milestones = {};
  double gamma = 0.1, min_lr = 0;
};

LearningRate rate(const Choice& c, double base, std::int64_t steps) {
  return {{c.kind, c.warmup_steps, c.milestones, c.gamma, c.min_lr}, base, steps};
}

}  // namespace

TEST_CASE("constant", "[learning rate]") {
  const LearningRate r = rate({}, 0.05, 10);
  for (const std::int64_t step : {0, 1, 9, 1000}) CHECK(r.at(step) == 0.05);
}

TEST_CASE("warm-up rises in equal parts, and its last step has the whole rate", "[learning rate]") {
  for (const LrKind kind :
       {LrKind::Constant, LrKind::Step, LrKind::Linear, LrKind::Cosine, LrKind::InverseSqrt}) {
    INFO(word_of(kind));
    const LearningRate r = rate({.kind = kind, .warmup_steps = 4}, 0.8, 100);
    CHECK(r.at(0) == Approx(0.2));
    CHECK(r.at(1) == Approx(0.4));
    CHECK(r.at(2) == Approx(0.6));
    CHECK(r.at(3) == Approx(0.8));
  }
}

TEST_CASE("constant stays after its warm-up", "[learning rate]") {
  const LearningRate r = rate({.warmup_steps = 2}, 0.8, 10);
  CHECK(r.at(0) == 0.4);
  CHECK(r.at(2) == 0.8);
  CHECK(r.at(9) == 0.8);
}

TEST_CASE("step multiplies by gamma from each milestone on", "[learning rate]") {
  const LearningRate r = rate({.kind = LrKind::Step, .milestones = {3, 6}, .gamma = 0.5}, 1.0, 10);
  CHECK(r.at(0) == 1.0);
  CHECK(r.at(2) == 1.0);
  CHECK(r.at(3) == 0.5);
  CHECK(r.at(5) == 0.5);
  CHECK(r.at(6) == 0.25);
  CHECK(r.at(99) == 0.25);
}

TEST_CASE("step goes no lower than min_lr", "[learning rate]") {
  const LearningRate r =
      rate({.kind = LrKind::Step, .milestones = {1, 2}, .gamma = 0.1, .min_lr = 0.05}, 1.0, 10);
  CHECK(r.at(1) == Approx(0.1));
  CHECK(r.at(2) == 0.05);
}

TEST_CASE("linear falls in equal parts and ends at min_lr", "[learning rate]") {
  const LearningRate r = rate({.kind = LrKind::Linear, .min_lr = 0.2}, 1.0, 5);
  const double expected[] = {1.0, 0.8, 0.6, 0.4, 0.2};
  for (int step = 0; step < 5; ++step) CHECK(r.at(step) == Approx(expected[step]));
  CHECK(r.at(5) == Approx(0.2));  // a longer run stays there
}

TEST_CASE("linear after a warm-up", "[learning rate]") {
  const LearningRate r = rate({.kind = LrKind::Linear, .warmup_steps = 2}, 1.0, 7);
  CHECK(r.at(1) == 1.0);
  CHECK(r.at(2) == 1.0);
  CHECK(r.at(3) == Approx(0.75));
  CHECK(r.at(4) == Approx(0.5));
  CHECK(r.at(6) == Approx(0.0).margin(1e-15));
}

TEST_CASE("cosine: the ends, the middle and a third", "[learning rate]") {
  const LearningRate r = rate({.kind = LrKind::Cosine, .min_lr = 0.1}, 1.1, 13);
  CHECK(r.at(0) == Approx(1.1));
  CHECK(r.at(4) == Approx(0.1 + 0.75));  // (1 + cos(pi/3)) / 2 = 3/4
  CHECK(r.at(6) == Approx(0.6));
  CHECK(r.at(12) == Approx(0.1));
  CHECK(r.at(50) == Approx(0.1));
}

TEST_CASE("inverse_sqrt: a quarter of the warm-up's steps back, half the rate", "[learning rate]") {
  const LearningRate r = rate({.kind = LrKind::InverseSqrt, .warmup_steps = 4}, 0.8, 1000);
  CHECK(r.at(3) == Approx(0.8));
  CHECK(r.at(4) == Approx(0.8 * std::sqrt(4.0 / 5)));
  CHECK(r.at(15) == Approx(0.4));
  CHECK(r.at(63) == Approx(0.2));
  const LearningRate no_warmup = rate({.kind = LrKind::InverseSqrt, .min_lr = 0.3}, 0.8, 1000);
  CHECK(no_warmup.at(0) == Approx(0.8));
  CHECK(no_warmup.at(3) == Approx(0.4));
  CHECK(no_warmup.at(99) == 0.3);
}

TEST_CASE("trainings too short for their schedule stay finite", "[learning rate]") {
  for (const LrKind kind : {LrKind::Linear, LrKind::Cosine})
    for (const std::int64_t steps : {1, 2, 3}) {
      const LearningRate r = rate({.kind = kind, .warmup_steps = 2}, 1.0, steps);
      for (std::int64_t step = 0; step < 5; ++step) {
        CHECK(r.at(step) >= 0);
        CHECK(r.at(step) <= 1.0);
      }
    }
}
