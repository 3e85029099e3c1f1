#include "graph/initial.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "catch.hpp"
#include "graph/graph.hpp"

using namespace pipetrain;

TEST_CASE("uniform values fill their range, and depend on seed and name alone") {
  const Parameter weight{"fc.weight", {{50, 40}}, Uniform{0.25}};
  const std::vector<float> values = initial_values(weight, 1);
  REQUIRE(values.size() == 2000);
  const auto [least, most] = std::minmax_element(values.begin(), values.end());
  CHECK(*least >= -0.25f);
  CHECK(*least < -0.24f);
  CHECK(*most <= 0.25f);
  CHECK(*most > 0.24f);
  CHECK(std::abs(std::accumulate(values.begin(), values.end(), 0.0) / 2000) < 0.02);

  CHECK(initial_values(weight, 1) == values);
  CHECK(initial_values(weight, 2) != values);
  CHECK(initial_values({"fc2.weight", {{50, 40}}, Uniform{0.25}}, 1) != values);
}

TEST_CASE("normal values have their deviation") {
  const std::vector<float> values = initial_values({"wte.weight", {{100, 40}}, Normal{0.02}}, 1);
  double sum = 0, squares = 0;
  for (const float v : values) sum += double{v}, squares += double{v} * double{v};
  CHECK(std::abs(sum / 4000) < 0.001);
  CHECK(std::sqrt(squares / 4000) == Approx(0.02).epsilon(0.03));
  CHECK(initial_values({"wte.weight", {{100, 40}}, Normal{0.02}}, 1) == values);
}

TEST_CASE("constants are constant") {
  CHECK(initial_values({"bn.weight", {{3}}, Constant{1}}, 7) == std::vector<float>{1, 1, 1});
}
