#include "plan/search/splits.hpp"

#include "graph/graph.hpp"

#include <algorithm>
#include <limits>

namespace pipetrain {
namespace {

// The number of ways to cut `layers` into `parts`, or `most` + 1 if there are more.
std::int64_t count_splits(int layers, int parts, std::int64_t most) {
  std::int64_t count = 1;
  for (int c = 1; c < parts; ++c) {
    count = count * (layers - c) / c;
    if (count > most) return most + 1;
  }
  return count;
}

bool next_split(Firsts& firsts, int layers) {
  const int parts = static_cast<int>(firsts.size());
  for (int p = parts - 1; p > 0; --p) {
    if (firsts[p] + 1 > layers - (parts - p)) continue;
    ++firsts[p];
    for (int q = p + 1; q < parts; ++q) firsts[q] = firsts[q - 1] + 1;
    return true;
  }
  return false;
}

RatedSplit best_of_all(int parts, int layers, const std::function<double(const Firsts&)>& rate) {
  Firsts firsts(parts);
  for (int p = 0; p < parts; ++p) firsts[p] = p;
  RatedSplit best{firsts, rate(firsts)};
  while (next_split(firsts, layers))
    if (const double rating = rate(firsts); rating < best.rating) best = {firsts, rating};
  return best;
}

// Moves one cut to the best place near it; leaves it if no place is better.
bool improve_cut(RatedSplit& split, std::size_t cut, int layers,
                 const std::function<double(const Firsts&)>& rate) {
  constexpr int reach = 3;
  const int end = cut + 1 < split.firsts.size() ? split.firsts[cut + 1] : layers;
  RatedSplit best = split;
  for (int moved = std::max(split.firsts[cut - 1] + 1, split.firsts[cut] - reach);
       moved <= std::min(end - 1, split.firsts[cut] + reach); ++moved) {
    Firsts firsts = split.firsts;
    firsts[cut] = moved;
    if (const double rating = rate(firsts); rating < best.rating) best = {firsts, rating};
  }
  const bool better = best.rating < split.rating;
  split = best;
  return better;
}

}  // namespace

Firsts balanced_firsts(const BalanceInput& in) {
  const int layers = static_cast<int>(in.chain.layers.size()),
            parts = static_cast<int>(in.speeds.size());
  std::vector<double> before(layers + 1, 0);
  for (int l = 0; l < layers; ++l) before[l + 1] = before[l] + in.chain.layers[l].compute_ms();
  const auto cut_before = [&](int l) { return l > 0 && !in.cut_ms.empty() ? in.cut_ms[l - 1] : 0; };
  // best[j]: the slowest of the first parts over layers [0, j); from[p][j]: where part p begins.
  std::vector<double> best(layers + 1, std::numeric_limits<double>::infinity());
  std::vector<std::vector<int>> from(parts, std::vector<int>(layers + 1, 0));
  best[0] = 0;
  for (int p = 0; p < parts; ++p) {
    std::vector<double> next(layers + 1, std::numeric_limits<double>::infinity());
    for (int j = p + 1; j <= layers; ++j)
      for (int i = p; i < j; ++i) {
        const double compute = (before[j] - before[i]) / in.speeds[p];
        const double slowest = std::max({best[i], compute, cut_before(i)});
        if (slowest < next[j]) {
          next[j] = slowest;
          from[p][j] = i;
        }
      }
    best = std::move(next);
  }
  Firsts firsts(parts);
  for (int p = parts - 1, end = layers; p >= 0; --p) firsts[p] = end = from[p][end];
  return firsts;
}

RatedSplit best_firsts(const Firsts& start, int layers,
                       const std::function<double(const Firsts&)>& rate, int all_of) {
  const int parts = static_cast<int>(start.size());
  if (count_splits(layers, parts, all_of) <= all_of) return best_of_all(parts, layers, rate);
  RatedSplit split{start, rate(start)};
  for (bool better = true; better;) {
    better = false;
    for (std::size_t cut = 1; cut < split.firsts.size(); ++cut)
      better = improve_cut(split, cut, layers, rate) || better;
  }
  return split;
}

}  // namespace pipetrain
