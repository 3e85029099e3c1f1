// When a cut moves, from numbers alone.
#include "run/rebalance/rebalancer.hpp"

#include <algorithm>

#include "catch.hpp"

using namespace pipetrain;

namespace {

PartTimes slowest(const std::vector<PartTimes>& parts) {
  return std::ranges::max(parts, {}, &PartTimes::ms);
}

// Eight even layers; the step is its slowest part.
RebalancerInput even(std::vector<int> firsts) {
  return {.layers = {.costs = std::vector<double>(8, 1.0),
                     .weight_halves = std::vector<double>(8, 0.25),
                     .updates = std::vector<double>(8, 0.0)},
          .firsts = std::move(firsts),
          .step_ms = [](const std::vector<PartTimes>& parts) { return slowest(parts).ms; },
          .steps = 100'000};
}

}  // namespace

TEST_CASE("an uneven cut moves until it is even, and stays", "[rebalance]") {
  Rebalancer r(even({0, 6}));
  const auto move = r.decide({.step = 20, .step_ms = 60, .part_ms = {60, 20}});
  REQUIRE(move);
  CHECK(move->firsts == std::vector{0, 4});
  CHECK(move->predicted_ms == Approx(40));
  CHECK_FALSE(move->back);
  r.moved(*move, 100);
  CHECK(r.firsts() == std::vector{0, 4});
  CHECK_FALSE(r.decide({.step = 40, .step_ms = 40, .part_ms = {40, 40}}));
}

TEST_CASE("a stage begins where the one before gets its gradients early", "[rebalance]") {
  RebalancerInput input = even({0, 6});
  input.layers.weight_halves[4] = 0.02;  // the most even cut would leave nothing to do after a send
  input.layers.weight_halves[3] = 0.99;
  input.step_ms = [](const std::vector<PartTimes>& parts) {
    return slowest(parts).ms - 1.5 * parts[1].tail_ms;
  };
  const auto move = Rebalancer(input).decide({.step = 20, .step_ms = 60, .part_ms = {60, 20}});
  REQUIRE(move);
  CHECK(move->firsts == std::vector{0, 3});
}

TEST_CASE("the tail of a stage that begins with frozen layers is that of a later layer",
          "[rebalance]") {
  RebalancerInput input = even({0, 6});
  input.layers.weight_halves = {0.25, 0.25, 0.25, 0.25, 0, 0, 0.5, 0.25};
  std::vector<double> tails;
  input.step_ms = [&](const std::vector<PartTimes>& parts) {
    if (parts[0].ms == Approx(40)) tails.push_back(parts[1].tail_ms);
    return slowest(parts).ms;
  };
  CHECK(Rebalancer(input).decide({.step = 20, .step_ms = 60, .part_ms = {60, 20}}));
  CHECK(tails == std::vector{5.0});
}

TEST_CASE("a move that would gain less than three percent is not made", "[rebalance]") {
  Rebalancer r(even({0, 4}));
  CHECK_FALSE(r.decide({.step = 20, .step_ms = 41, .part_ms = {41, 40}}));
}

TEST_CASE("a stage whose core becomes three times slower gives layers away, and gets them back",
          "[rebalance]") {
  Rebalancer r(even({0, 4}));
  CHECK_FALSE(r.decide({.step = 20, .step_ms = 40, .part_ms = {40, 40}}));
  // The layers that it gives away take 10 ms again, not 30.
  const auto away = r.decide({.step = 40, .step_ms = 120, .part_ms = {120, 40}});
  REQUIRE(away);
  CHECK(away->firsts == std::vector{0, 2});
  CHECK(away->predicted_ms == Approx(60));
  r.moved(*away, 10);
  CHECK_FALSE(r.decide({.step = 60, .step_ms = 60, .part_ms = {60, 60}}));
  const auto again = r.decide({.step = 80, .step_ms = 60, .part_ms = {20, 60}});
  REQUIRE(again);
  CHECK(again->firsts == std::vector{0, 4});
}

TEST_CASE("so does a stage that is held up from the beginning", "[rebalance]") {
  Rebalancer r(even({0, 4}));
  const auto away = r.decide({.step = 20, .step_ms = 80, .part_ms = {80, 40}});
  REQUIRE(away);
  CHECK(away->firsts[1] < 4);
  r.moved(*away, 10);
  // Nothing slows it down any more: each layer takes 10 ms again.
  const double first = 10 * away->firsts[1], second = 80 - first;
  const auto again = r.decide({.step = 40, .step_ms = second, .part_ms = {first, second}});
  REQUIRE(again);
  CHECK(again->firsts == std::vector{0, 4});
}

TEST_CASE("a move that does not shorten the step is taken back, and not tried again soon",
          "[rebalance]") {
  Rebalancer r(even({0, 6}));
  const MeasuredSteps window{.step = 20, .step_ms = 60, .part_ms = {60, 20}};
  const auto move = r.decide(window);
  REQUIRE(move);
  r.moved(*move, 10);
  const auto back = r.decide({.step = 40, .step_ms = 60, .part_ms = {40, 60}});
  REQUIRE(back);
  CHECK(back->back);
  CHECK(back->firsts == std::vector{0, 6});
  r.moved(*back, 10);
  int windows = 1;
  while (!r.decide(window)) ++windows;
  CHECK(windows == 4);
}

TEST_CASE("a move must pay for itself in the steps that are left", "[rebalance]") {
  RebalancerInput input = even({0, 6});
  input.steps = 30;
  Rebalancer r(input);
  CHECK_FALSE(r.decide({.step = 20, .step_ms = 60, .part_ms = {60, 20}}));  // 10 steps save 200 ms
  input.steps = 60;
  CHECK(Rebalancer(input).decide({.step = 20, .step_ms = 60, .part_ms = {60, 20}}));
}

TEST_CASE("a cut that was refused is not proposed again soon", "[rebalance]") {
  Rebalancer r(even({0, 6}));
  const MeasuredSteps window{.step = 20, .step_ms = 60, .part_ms = {60, 20}};
  r.refused(*r.decide(window));
  CHECK_FALSE(r.decide(window));
  CHECK(r.firsts() == std::vector{0, 6});
}
