// The largest eigenvalue, of matrices whose eigenvalues are known.
#include "run/stability/curvature.hpp"

#include <cmath>
#include <limits>

#include "catch.hpp"

using namespace pipetrain;

namespace {

// Diagonal but for a rotation of the first two axes.
auto turned(std::vector<double> values) {
  return [values = std::move(values)](const Direction& d) -> std::optional<Direction> {
    const double c = 0.8, s = 0.6;
    Direction result(d.size());
    const double a = values[0] * (c * d[0] + s * d[1]), b = values[1] * (-s * d[0] + c * d[1]);
    result[0] = static_cast<float>(c * a - s * b);
    result[1] = static_cast<float>(s * a + c * b);
    for (std::size_t i = 2; i < d.size(); ++i) result[i] = static_cast<float>(values[i] * d[i]);
    return result;
  };
}

const Direction some = {1, 0.5F, -0.25F, 2};

}  // namespace

TEST_CASE("power iteration finds the largest eigenvalue and its direction", "[stability]") {
  const auto found = largest_curvature(turned({5, 1, 0.5, 2}), some, 100);
  REQUIRE(found);
  CHECK(found->value == Approx(5).epsilon(0.01));
  CHECK(std::abs(found->direction[0]) == Approx(0.8).margin(0.05));
  CHECK(length_of(found->direction) == Approx(1));
  CHECK(found->iterations < 20);
}

TEST_CASE("an eigenvalue far below 0 is not the largest", "[stability]") {
  const auto found = largest_curvature(turned({3, 1, 0.5, -8}), some, 200);
  REQUIRE(found);
  CHECK(found->value == Approx(3).epsilon(0.03));
}

TEST_CASE("if every eigenvalue is below 0, the one nearest to 0 is found", "[stability]") {
  const auto found = largest_curvature(turned({-3, -1, -0.5, -8}), some, 200);
  REQUIRE(found);
  CHECK(found->value == Approx(-0.5).margin(0.05));
}

TEST_CASE("power iteration ends after the number of iterations that it was given", "[stability]") {
  int calls = 0;
  const auto times = turned({5, 4.9, 0.5, 2});
  const auto found =
      largest_curvature([&](const Direction& d) { return ++calls, times(d); }, some, 3);
  REQUIRE(found);
  CHECK(calls == 3);
  CHECK(found->iterations == calls);
}

TEST_CASE("the direction of an earlier call saves iterations", "[stability]") {
  const auto first = largest_curvature(turned({5, 4, 0.5, 2}), some, 100);
  REQUIRE(first);
  const auto again = largest_curvature(turned({5.1, 4, 0.5, 2}), first->direction, 100);
  REQUIRE(again);
  CHECK(again->value == Approx(5.1).epsilon(0.01));
  CHECK(again->iterations <= 3);
}

TEST_CASE("nothing is found if there is no curvature", "[stability]") {
  CHECK_FALSE(largest_curvature(turned({0, 0, 0, 0}), some, 10));
  CHECK_FALSE(largest_curvature(turned({1, 1, 1, 1}), {0, 0, 0, 0}, 10));
  CHECK_FALSE(
      largest_curvature([](const Direction&) { return std::optional<Direction>(); }, some, 10));
  const double nan = std::numeric_limits<double>::quiet_NaN();
  CHECK_FALSE(largest_curvature(turned({nan, 1, 1, 1}), some, 10));
}
