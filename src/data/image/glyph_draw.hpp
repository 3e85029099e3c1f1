// One image of `glyphs`: a digit's strokes under a random affine map and a slight bend, drawn with
// a random pen over clutter, with noise added. A pure function of the digit and the generator.
#pragma once

#include <array>
#include <cstdint>

#include "base/rng.hpp"

namespace pipetrain {

inline constexpr int glyph_side = 28;
using GlyphImage = std::array<std::uint8_t, glyph_side * glyph_side>;  // row-major; 255 is full ink

GlyphImage draw_glyph(int digit, Random& random);

}  // namespace pipetrain
