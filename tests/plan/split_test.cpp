// best_split against every possible split.
#include "plan/split.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "base/rng.hpp"
#include "catch.hpp"
#include "graph/graph.hpp"

using namespace pipetrain;

namespace {

// The largest stage and the sum of squares of a split.
std::pair<double, double> rate(const SplitCosts& costs, const std::vector<int>& firsts) {
  std::pair<double, double> rating{0, 0};
  for (std::size_t s = 0; s < firsts.size(); ++s) {
    const auto first = static_cast<std::size_t>(firsts[s]);
    const bool is_last = s + 1 == firsts.size();
    const auto end = is_last ? costs.layers.size() : static_cast<std::size_t>(firsts[s + 1]);
    double cost = (s > 0 ? costs.cuts[first] : 0) + (is_last ? 0 : costs.cuts[end]);
    for (std::size_t i = first; i < end; ++i) cost += costs.layers[i];
    rating.first = std::max(rating.first, cost);
    rating.second += cost * cost;
  }
  return rating;
}

void try_all(const SplitCosts& costs, std::size_t stages, std::vector<int>& firsts,
             std::pair<double, double>& best) {
  if (firsts.size() == stages) {
    best = std::min(best, rate(costs, firsts));
    return;
  }
  for (int i = firsts.back() + 1; i < static_cast<int>(costs.layers.size()); ++i) {
    firsts.push_back(i);
    try_all(costs, stages, firsts, best);
    firsts.pop_back();
  }
}

}  // namespace

TEST_CASE("the best split equals the best of all splits") {
  for (std::uint64_t seed = 0; seed < 150; ++seed) {
    INFO("seed " << seed);
    Random random(seed, "split");
    SplitCosts costs;
    const auto layers = 1 + random.below(9);
    for (std::uint64_t i = 0; i < layers; ++i) {
      costs.layers.push_back(static_cast<double>(random.below(12)));
      costs.cuts.push_back(static_cast<double>(random.below(4)));
    }
    const auto stages = 1 + random.below(layers);
    const double no = std::numeric_limits<double>::infinity();
    std::pair<double, double> best{no, no};
    std::vector<int> firsts = {0};
    try_all(costs, stages, firsts, best);
    const std::vector<int> split = best_split(costs, static_cast<int>(stages));
    REQUIRE(split.size() == stages);
    CHECK(split[0] == 0);
    CHECK(std::adjacent_find(split.begin(), split.end(), std::greater_equal<>()) == split.end());
    CHECK(rate(costs, split) == best);
  }
}

TEST_CASE("among splits that are equal to within the error, fewer tensors cross") {
  // The largest stage is 52 with a cut before layer 1, which two tensors cross, and 54 with one
  // before layer 2, which one crosses.
  SplitCosts costs{.layers = {52, 2, 48, 1}, .cuts = {0, 0, 0, 0}, .tensors = {0, 2, 1, 2}};
  CHECK(best_split(costs, 2) == std::vector<int>{0, 1});
  costs.exact_to = 0.05;
  CHECK(best_split(costs, 2) == std::vector<int>{0, 2});
  costs.layers = {52, 9, 43, 1};
  CHECK(best_split(costs, 2) == std::vector<int>{0, 1});  // too much to pay for fewer tensors
}

TEST_CASE("if no split has fewer tensors, the smallest largest stage wins exactly") {
  // Cut before layer 1: 52 and 51. Before layer 2: 53 and 46, whose squares have the smaller sum.
  const SplitCosts costs{
      .layers = {50, 3, 45, 1}, .cuts = {0, 2, 0, 0}, .tensors = {0, 1, 1, 1}, .exact_to = 0.05};
  CHECK(best_split(costs, 2) == std::vector<int>{0, 1});
}

TEST_CASE("layers that cost nothing stay with the stage before them") {
  CHECK(best_split({{5, 0, 0, 5, 0, 5, 0}, {0, 0, 0, 0, 0, 0, 0}}, 3) == std::vector<int>{0, 3, 5});
}
