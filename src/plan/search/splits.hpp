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
  std::vector<double> cut_ms = {};  // [l]: over a cut behind layer l; empty: nothing
};
// Of all splits in so many parts, one whose slowest part or transfer is as fast as can be.
Firsts balanced_firsts(const BalanceInput& input);

struct RatedSplit {
  Firsts firsts;
  double rating = 0;  // smaller is better
};
// The best of all splits in so many parts where there are at most `all_of` of them. Else from the
// starts one cut at a time is moved to where it is better, until none is: a local best.
RatedSplit best_firsts(const std::vector<Firsts>& starts, int layers,
                       const std::function<double(const Firsts&)>& rate, int all_of = 150);

}  // namespace pipetrain
