// The best cut of a row of layers into contiguous stages.
#pragma once

#include <vector>

namespace pipetrain {

struct SplitCosts {
  std::vector<double> layers;  // of each layer
  std::vector<double> cuts;    // cuts[i]: paid by both sides of a cut before layer i; [0] is unused
  std::vector<int> tensors = {};  // tensors[i]: how many cross it; empty: unknown
  double exact_to = 0;            // costs that differ by less than this share count as equal
};

// The first layer of each stage; [0] = 0. Of the splits whose largest stage is as small as
// possible, to within `exact_to`, the best are those that the fewest tensors cross. Among these the
// smallest largest stage wins, then the smallest sum of squares, so that the other stages are even
// too. Among equals the latest cuts win: layers that cost nothing stay with the stage before them.
std::vector<int> best_split(const SplitCosts& costs, int stages);

}  // namespace pipetrain
