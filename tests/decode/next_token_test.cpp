// How the next token is drawn: shares by temperature, the k likeliest, the same by the same seed.
#include "decode/next_token.hpp"

#include <cmath>
#include <limits>
#include <vector>

#include "catch.hpp"

using namespace pipetrain;

namespace {

std::vector<double> shares(const std::vector<float>& outputs, const Sampling& sampling) {
  constexpr int draws = 20000;
  Random random(3, "test");
  std::vector<double> share(outputs.size(), 0);
  for (int i = 0; i < draws; ++i)
    share[static_cast<std::size_t>(next_token(outputs, sampling, random))] += 1.0 / draws;
  return share;
}

}  // namespace

TEST_CASE("tokens are drawn by the softmax of outputs over temperature", "[generate]") {
  const std::vector<float> outputs = {std::log(1.0f), std::log(2.0f), std::log(5.0f)};
  const std::vector<double> plain = shares(outputs, {});
  CHECK(plain[0] == Approx(1.0 / 8).margin(0.01));
  CHECK(plain[1] == Approx(2.0 / 8).margin(0.01));
  CHECK(plain[2] == Approx(5.0 / 8).margin(0.01));
  const std::vector<double> cold = shares(outputs, {.temperature = 0.5});  // squares: 1, 4, 25
  CHECK(cold[0] == Approx(1.0 / 30).margin(0.01));
  CHECK(cold[2] == Approx(25.0 / 30).margin(0.01));
}

TEST_CASE("top_k keeps the k likeliest, temperature 0 only one", "[generate]") {
  const std::vector<float> outputs = {1, 3, 2, 3};
  const std::vector<double> two = shares(outputs, {.top_k = 2});
  CHECK(two[0] == 0);
  CHECK(two[2] == 0);
  CHECK(two[1] == Approx(0.5).margin(0.02));
  CHECK(shares(outputs, {.temperature = 0})[1] == Approx(1));
  CHECK(shares(outputs, {.top_k = 100})[0] > 0);
}

TEST_CASE("outputs that are not finite are never drawn", "[generate]") {
  const float infinity = std::numeric_limits<float>::infinity();
  const float nan = std::numeric_limits<float>::quiet_NaN();
  CHECK(shares({nan, 0, -infinity, infinity}, {})[1] == Approx(1));
  Random random(1, "test");
  CHECK(next_token(std::vector<float>{nan, nan}, {}, random) == -1);
}
