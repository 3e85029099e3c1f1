// The time that a training has left, from made-up steps and validations.
#include "metrics/time_left.hpp"

#include "catch.hpp"

using namespace pipetrain;

TEST_CASE("steps alone count until a validation has been measured", "[metrics]") {
  TimeLeft left;
  CHECK(left.seconds(10) == 0);  // nothing is known
  left.step(1.5);
  left.step(0.5);
  CHECK(left.seconds(10) == Approx(10));
  CHECK(left.seconds(0) == 0);
}

TEST_CASE("validations to come count at their mean so far", "[metrics]") {
  TimeLeft left;
  left.validation(3, 4);  // before the first step
  CHECK(left.seconds(10) == Approx(12));
  left.step(2);
  CHECK(left.seconds(10) == Approx(20 + 12));
  left.validation(5, 3);
  CHECK(left.seconds(10) == Approx(20 + 3 * 4));
  left.validation(4, 0);
  CHECK(left.seconds(10) == Approx(20));
}

TEST_CASE("validations to come are those that the rule makes due, and the last", "[metrics]") {
  const auto counted = [](const ValidationConfig& rule, std::int64_t steps, std::int64_t epoch,
                          std::int64_t step) {
    std::int64_t due = 0;
    for (std::int64_t s = step + 1; s <= steps; ++s)
      due += s == steps || (rule.every_steps > 0 && s % rule.every_steps == 0) ||
             (rule.every_epochs > 0 && s % (rule.every_epochs * epoch) == 0);
    return due;
  };
  for (const auto& [every_steps, every_epochs] :
       {std::pair(4, 0), std::pair(0, 1), std::pair(0, 3), std::pair(6, 2), std::pair(100, 0)})
    for (const std::int64_t steps : {1, 24, 25, 36})
      for (std::int64_t step = 0; step <= steps; ++step) {
        const ValidationConfig rule{.every_steps = every_steps, .every_epochs = every_epochs};
        INFO(every_steps << " " << every_epochs << " " << steps << " " << step);
        CHECK(validations_after(rule, steps, 4, step) == counted(rule, steps, 4, step));
      }
  CHECK(validations_after({}, 100, 4, 0) == 0);
  CHECK(validations_after({.before_first_step = true}, 100, 4, 0) == 0);
}

TEST_CASE("rules as large as numbers go do not overflow", "[metrics]") {
  const std::int64_t large = std::int64_t{1} << 53;
  CHECK(validations_after({.every_steps = large - 1, .every_epochs = 3}, large, large / 4, 0) == 3);
}
