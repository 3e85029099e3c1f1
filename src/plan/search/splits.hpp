// Contiguous splits of a chain that a search looks at: all of them where they are few, else those
// around a balanced one.
#pragma once

#include <functional>
#include <vector>

#include "plan/layer_chain.hpp"

namespace pipetrain {

using Firsts = std::vector<int>;  // the first layer of each part, [0] = 0

// Cuts whose slowest part is as fast as can be, with `speeds[p]` of each part; transfers are left
// out.
Firsts balanced_firsts(const LayerChain& chain, const std::vector<double>& speeds);

struct RatedSplit {
  Firsts firsts;
  double rating = 0;  // smaller is better
};
// The best of all splits in so many parts where there are at most `all_of` of them. Else from the
// starts one cut at a time is moved to where it is better, until none is: a local best.
RatedSplit best_firsts(const std::vector<Firsts>& starts, int layers,
                       const std::function<double(const Firsts&)>& rate, int all_of = 400);

}  // namespace pipetrain
