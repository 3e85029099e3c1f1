// The cuts that the search ends at, against all possible ones.
#include "plan/search/splits.hpp"

#include <algorithm>

#include "base/rng.hpp"
#include "catch.hpp"
#include "graph/graph.hpp"

using namespace pipetrain;

namespace {

LayerChain chain_of(const std::vector<double>& compute_ms) {
  LayerChain chain;
  for (const double ms : compute_ms) {
    ChainLayer& layer = chain.layers.emplace_back();
    layer.forward_ms = ms;
  }
  return chain;
}

double slowest(const LayerChain& chain, const Firsts& firsts, const std::vector<double>& speeds) {
  double most = 0;
  for (std::size_t p = 0; p < firsts.size(); ++p) {
    const std::size_t end = p + 1 < firsts.size() ? firsts[p + 1] : chain.layers.size();
    double sum = 0;
    for (std::size_t l = firsts[p]; l < end; ++l) sum += chain.layers[l].compute_ms();
    most = std::max(most, sum / speeds[p]);
  }
  return most;
}

}  // namespace

TEST_CASE("a balanced split has the smallest slowest part", "[search]") {
  Random random(7, "splits");
  for (int instance = 0; instance < 200; ++instance) {
    std::vector<double> times(4 + instance % 6);
    for (double& time : times) time = 1 + 9 * random.uniform();
    const std::vector<double> speeds = {1, 0.5 + random.uniform(), 1.5};
    const LayerChain chain = chain_of(times);
    const auto rate = [&](const Firsts& firsts) { return slowest(chain, firsts, speeds); };
    const Firsts balanced = balanced_firsts({chain, speeds});
    const RatedSplit best = best_firsts(balanced, static_cast<int>(times.size()), rate, 1 << 20);
    CHECK(rate(balanced) == Approx(best.rating));
  }
}

TEST_CASE("with too many splits to try, cuts move to a local best", "[search]") {
  const LayerChain chain = chain_of({4, 1, 1, 1, 1, 1, 1, 1, 1, 4});
  const std::vector<double> speeds(3, 1);
  const auto rate = [&](const Firsts& firsts) { return slowest(chain, firsts, speeds); };
  const RatedSplit best = best_firsts({0, 1, 2}, 10, rate, 1);
  CHECK(best.rating == rate(balanced_firsts({chain, speeds})));
}

TEST_CASE("a cut that takes longer than any part is not chosen", "[search]") {
  const LayerChain chain = chain_of({1, 1, 1, 1});
  CHECK(balanced_firsts({chain, {1, 1}}) == Firsts{0, 2});
  CHECK(balanced_firsts({chain, {1, 1}, {0, 9, 0, 0}}) == Firsts{0, 1});
}
