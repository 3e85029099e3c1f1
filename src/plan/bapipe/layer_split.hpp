// BaPipe's partition inside a layer: where whole layers cannot be balanced, neighbours share one.
// Of its output channels, one computes a share and the other the rest.
#pragma once

#include <optional>

#include "plan/bapipe/costs.hpp"

namespace pipetrain {

struct LayerSplit {
  int boundary = 0;  // between stage `boundary` and the next
  int layer = 0;     // the last of the one and the first of the other
  double left_share = 0;
  CutCosts costs;  // after it
};

// Of all splits of one boundary layer that even out its two stages, that fit and whose transfers
// are hidden, the one with the shortest step; nothing where none is a thousandth shorter than
// uncut. The boundary then carries the layer's input, whole, and the features that the left stage
// made of it.
std::optional<LayerSplit> best_layer_split(const PipelineCosts& costs, const StageCuts& cuts);

}  // namespace pipetrain
