// The ten digits that `glyphs` draws, as strokes of our own design. Coordinates: x to the right, y
// down; a digit is about 1.2 wide and 2 high, centred on the origin.
#pragma once

#include <vector>

namespace pipetrain {

struct Point {
  double x = 0, y = 0;
};
using Stroke = std::vector<Point>;  // a polyline; arcs are sampled finely

// The ways to write `digit` (0..9), each a list of strokes. At least one way.
const std::vector<std::vector<Stroke>>& glyph_shapes(int digit);

}  // namespace pipetrain
