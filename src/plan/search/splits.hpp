// The contiguous splits of a chain that a search tries: all of them if they are few, otherwise
// those around a balanced one.
#pragma once

#include <functional>
#include <vector>

#include "plan/layer_chain.hpp"

namespace pipetrain {

using Firsts = std::vector<int>;  // the first layer of each part; [0] = 0

struct BalanceInput {
  const LayerChain& chain;
  std::vector<double> speeds;       // of each part's device
  std::vector<double> cut_ms = {};  // [l]: over a cut after layer l; empty: 0
};
// Of all splits with one part per speed, one whose slowest part or transfer is as fast as possible.
Firsts balanced_firsts(const BalanceInput& input);

struct RatedSplit {
  Firsts firsts;
  double rating = 0;  // smaller is better
};
// The best of all splits with as many parts as `start`, if there are at most `all_of` of them.
// Otherwise single cuts move from `start` to better places until none improves: a local best.
RatedSplit best_firsts(const Firsts& start, int layers,
                       const std::function<double(const Firsts&)>& rate, int all_of = 150);

}  // namespace pipetrain
