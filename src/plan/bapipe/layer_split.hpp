// BaPipe's partition inside a layer: if whole layers cannot be balanced, neighbours share one. One
// stage computes a share of its output channels, and the other the rest.
#pragma once

#include <optional>

#include "plan/bapipe/costs.hpp"

namespace pipetrain {

struct LayerSplit {
  int boundary = 0;  // between stage `boundary` and the next
  int layer = 0;     // the last layer of the left stage and the first of the right one
  double left_share = 0;
  CutCosts costs;  // with the split
};

// Of all splits of one boundary layer that even out its two stages, fit, and hide the transfers,
// the one with the shortest step. None if no split makes the step at least a thousandth shorter.
// The boundary then carries the layer's whole input, and the features that the left stage made from
// it.
std::optional<LayerSplit> best_layer_split(const PipelineCosts& costs, const StageCuts& cuts);

}  // namespace pipetrain
