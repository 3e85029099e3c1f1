#include "data/image/glyph_strokes.hpp"

#include <array>
#include <cmath>
#include <cstddef>
#include <numbers>

namespace pipetrain {

namespace {

struct Ellipse {
  double x, y, radius_x, radius_y;
};

// From one angle to another in degrees, clockwise on screen: 0 is right, 90 is down.
Stroke arc(const Ellipse& e, double from, double to) {
  const int pieces = static_cast<int>(std::ceil(std::abs(to - from) / 30));
  Stroke points;
  for (int i = 0; i <= pieces; ++i) {
    const double angle = (from + (to - from) * i / pieces) * std::numbers::pi / 180;
    points.push_back({e.x + e.radius_x * std::cos(angle), e.y + e.radius_y * std::sin(angle)});
  }
  return points;
}

Stroke join(Stroke a, const Stroke& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

using Shapes = std::vector<std::vector<Stroke>>;

std::array<Shapes, 10> make_shapes() {
  const Stroke stem = {{-0.35, -0.6}, {0.05, -1}, {0.05, 1}};
  const Stroke seven = {{-0.55, -1}, {0.55, -1}, {-0.1, 1}};
  const Stroke top_of_two = arc({0, -0.45, 0.55, 0.55}, 190, 390);
  const Stroke loop_of_six = arc({0, 0.45, 0.55, 0.55}, 0, 360);
  const Stroke loop_of_nine = arc({0, -0.45, 0.55, 0.55}, 0, 360);
  const Stroke belly_of_five = arc({-0.02, 0.38, 0.58, 0.62}, 232, 500);
  const Stroke belly_of_three = arc({-0.05, 0.5, 0.6, 0.5}, 270, 510);
  return {{
      {{arc({0, 0, 0.6, 1}, 0, 360)}},
      {{stem}, {stem, {{-0.4, 1}, {0.5, 1}}}, {{{0, -1}, {0, 1}}}},
      {{join(top_of_two, {{-0.6, 1}, {0.6, 1}})},
       {join(top_of_two, join(arc({-0.35, 0.85, 0.22, 0.15}, 0, -300), {{0.6, 1}}))}},
      {{join(arc({-0.05, -0.5, 0.52, 0.5}, 205, 450), belly_of_three)},
       {join({{-0.5, -1}, {0.5, -1}, {-0.05, -0.1}}, arc({-0.05, 0.43, 0.6, 0.55}, 270, 510))}},
      {{{{0.25, 1}, {0.25, -1}, {-0.6, 0.4}, {0.6, 0.4}}},
       {{{-0.45, -1}, {-0.55, 0.15}, {0.6, 0.15}}, {{0.35, -0.9}, {0.25, 1}}}},
      {{join({{0.5, -1}, {-0.4, -1}, {-0.4, -0.1}}, belly_of_five)}},
      {{loop_of_six, arc({0.55, 0.45, 1.1, 1.45}, 180, 250)}},
      {{seven}, {seven, {{-0.15, 0}, {0.5, 0}}}},
      {{arc({0, -0.5, 0.45, 0.5}, 0, 360), arc({0, 0.5, 0.56, 0.5}, 0, 360)}},
      {{loop_of_nine, arc({-0.55, -0.45, 1.1, 1.45}, 0, 70)},
       {loop_of_nine, {{0.55, -0.45}, {0.4, 1}}}},
  }};
}

}  // namespace

const std::vector<std::vector<Stroke>>& glyph_shapes(int digit) {
  static const std::array<Shapes, 10> shapes = make_shapes();
  return shapes[digit];
}

}  // namespace pipetrain
