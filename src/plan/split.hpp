// The best cut of a row of layers into contiguous stages.
#pragma once

#include <vector>

namespace pipetrain {

struct SplitCosts {
  std::vector<double> layers;  // of each layer
  std::vector<double> cuts;    // cuts[i]: paid by both sides of a cut before layer i; [0] is unused
};

// The first layer of each stage, [0] = 0. The largest stage is as small as can be; among such
// splits the sum of squares is smallest, so that the others are even too; of what is still equal
// the latest cuts win: layers that cost nothing stay with the stage before them.
std::vector<int> best_split(const SplitCosts& costs, int stages);

}  // namespace pipetrain
