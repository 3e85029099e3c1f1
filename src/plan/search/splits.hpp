// Contiguous splits of a chain that a search looks at: all of them where they are few, else those
// around a balanced one.
#pragma once

#include <functional>
#include <vector>

#include "plan/layer_chain.hpp"

namespace pipetrain {

using Firsts = std::vector<int>;  // the first layer of each part, [0] = 0

struct BalanceInput {
  const LayerChain& chain;
  std::vector<double> speeds;       // of each part's device
  std::vector<double> cut_ms = {};  // [l]: over a cut after layer l; empty: nothing
};
// Of all splits with one part per speed, one whose slowest part or transfer is as fast as can be.
Firsts balanced_firsts(const BalanceInput& input);

struct RatedSplit {
  Firsts firsts;
  double rating = 0;  // smaller is better
};
// The best of all splits with as many parts as `start` if there are at most `all_of` of them. Else
// one cut at a time moves from `start` to where it is better, until none is: a local best.
RatedSplit best_firsts(const Firsts& start, int layers,
                       const std::function<double(const Firsts&)>& rate, int all_of = 150);

}  // namespace pipetrain
