#include "plan/split.hpp"

#include <algorithm>
#include <limits>

#include "base/check.hpp"

namespace pipetrain {
namespace {

constexpr double kImpossible = std::numeric_limits<double>::infinity();

// What splits are compared by: the first number, then the second.
struct Rating {
  double first = 0, second = 0;
  auto operator<=>(const Rating&) const = default;
};
constexpr Rating kNone = {kImpossible, kImpossible};

// Dynamic programming over (stages, layers): value[s][j] is the best rating with the first j layers
// cut into s stages, from[s][j] the layer at which the last of them begins.
struct Search {
  const SplitCosts& costs;
  int layers, stages;
  std::vector<double> before = {};  // cost of the layers before each
  std::vector<std::vector<Rating>> value = {};
  std::vector<std::vector<int>> from = {};

  double stage_cost(int first, int end) const {
    const auto f = static_cast<std::size_t>(first), e = static_cast<std::size_t>(end);
    return before[e] - before[f] + (first > 0 ? costs.cuts[f] : 0) +
           (end < layers ? costs.cuts[e] : 0);
  }
  Rating best() const { return value[stages].back(); }
  int tensors(int cut) const { return cut == 0 || costs.tensors.empty() ? 0 : costs.tensors[cut]; }

  template <class Join>  // (rating of the stages before, first layer and cost of the last)
  void run(Join join) {
    const auto n = static_cast<std::size_t>(layers) + 1;
    value.assign(static_cast<std::size_t>(stages) + 1, std::vector<Rating>(n, kNone));
    from.assign(value.size(), std::vector<int>(n, 0));
    value[0][0] = {};
    for (int s = 1; s <= stages; ++s)
      for (int j = s; j <= layers; ++j)
        for (int i = s - 1; i < j; ++i) take(s, j, i, join);
  }

  template <class Join>
  void take(int stage, int end, int first, Join join) {
    const auto s = static_cast<std::size_t>(stage), j = static_cast<std::size_t>(end);
    const Rating before_it = value[s - 1][first];
    if (before_it == kNone) return;
    const Rating candidate = join(before_it, first, stage_cost(first, end));
    if (candidate > value[s][j] || candidate == kNone) return;
    value[s][j] = candidate;
    from[s][j] = first;
  }
};

}  // namespace

std::vector<int> best_split(const SplitCosts& costs, int stages) {
  const int layers = static_cast<int>(costs.layers.size());
  PIPETRAIN_CHECK(stages >= 1 && stages <= layers, "{} stages of {} layers", stages, layers);
  Search search{costs, layers, stages};
  search.before = {0};
  for (const double cost : costs.layers) search.before.push_back(search.before.back() + cost);

  search.run(
      [](const Rating& others, int, double last) { return Rating{std::max(others.first, last)}; });
  const double bearable = search.best().first * (1 + costs.exact_to);
  search.run([&](const Rating& others, int first, double last) {
    return last <= bearable
               ? Rating{others.first + search.tensors(first), std::max(others.second, last)}
               : kNone;
  });
  const double largest = search.best().second;
  search.run([&](const Rating& others, int first, double last) {
    return last <= largest
               ? Rating{others.first + search.tensors(first), others.second + last * last}
               : kNone;
  });

  std::vector<int> firsts(stages);
  int end = layers;
  for (std::size_t s = firsts.size(); s > 0; --s) firsts[s - 1] = end = search.from[s][end];
  return firsts;
}

}  // namespace pipetrain
