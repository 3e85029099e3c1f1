#include "data/image/glyph_draw.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numbers>

#include "data/image/glyph_strokes.hpp"

namespace pipetrain {

namespace {

// These decide how hard the task is. Tuned together: datasets/glyphs.md has the resulting
// accuracies.
constexpr double rotation_max = 0.3;  // radians
constexpr double shear_max = 0.3;
constexpr double half_height_min = 7, half_height_max = 10.5;  // pixels
constexpr double aspect_min = 0.75, aspect_max = 1.15;
constexpr double shift_max = 2.5;  // pixels
constexpr double bend_max = 0.1;
constexpr double pen_min = 0.7, pen_max = 1.5;  // radius in pixels
constexpr double ink_min = 0.65;
constexpr int clutter_max = 3;
constexpr double clutter_length_min = 3, clutter_length_max = 8;
constexpr double clutter_ink_min = 0.25, clutter_ink_max = 0.65;
constexpr double noise_min = 0.03, noise_max = 0.13;  // deviation

using Canvas = std::array<float, glyph_side * glyph_side>;

struct Pen {
  double radius, ink;
};

double squared_distance(Point p, Point a, Point b) {
  const double dx = b.x - a.x, dy = b.y - a.y, length = dx * dx + dy * dy;
  const double along = ((p.x - a.x) * dx + (p.y - a.y) * dy) / std::max(length, 1e-9);
  const double t = std::clamp(along, 0.0, 1.0);
  const double ex = a.x + t * dx - p.x, ey = a.y + t * dy - p.y;
  return ex * ex + ey * ey;
}

// A line with round ends, whose edge fades over one pixel. Crossing strokes do not add up.
void draw_line(Canvas& canvas, Point a, Point b, Pen pen) {
  const double reach = pen.radius + 0.5;
  const auto low = [&](double v) { return std::max(0, static_cast<int>(std::ceil(v - reach))); };
  const auto high = [&](double v) {
    return std::min(glyph_side - 1, static_cast<int>(std::floor(v + reach)));
  };
  const int left = low(std::min(a.x, b.x)), right = high(std::max(a.x, b.x));
  const int bottom = high(std::max(a.y, b.y));
  for (int y = low(std::min(a.y, b.y)); y <= bottom; ++y)
    for (int x = left; x <= right; ++x) {
      const double square = squared_distance({double(x), double(y)}, a, b);
      if (square >= reach * reach) continue;
      const double cover = std::min(1.0, reach - std::sqrt(square));
      float& pixel = canvas[y * glyph_side + x];
      pixel = std::max(pixel, static_cast<float>(pen.ink * cover));
    }
}

// Maps the strokes' coordinates to pixels: bend, then scale, shear, rotate and shift.
struct Map {
  double xx, xy, yx, yy, shift_x, shift_y;
  double bend_x, bend_y, phase_x, phase_y;

  explicit Map(Random& random) {
    const double height = random.uniform(half_height_min, half_height_max);
    const double width = height * random.uniform(aspect_min, aspect_max);
    const double angle = random.uniform(-rotation_max, rotation_max);
    const double shear = random.uniform(-shear_max, shear_max);
    const double c = std::cos(angle), s = std::sin(angle);
    xx = c * width, xy = (c * shear - s) * height;
    yx = s * width, yy = (s * shear + c) * height;
    const double middle = (glyph_side - 1) / 2.0;
    shift_x = middle + random.uniform(-shift_max, shift_max);
    shift_y = middle + random.uniform(-shift_max, shift_max);
    bend_x = random.uniform(0, bend_max), bend_y = random.uniform(0, bend_max);
    phase_x = random.uniform(0, 2 * std::numbers::pi);
    phase_y = random.uniform(0, 2 * std::numbers::pi);
  }

  Point operator()(Point p) const {
    const double x = p.x + bend_x * std::sin(2.5 * p.y + phase_x);
    const double y = p.y + bend_y * std::sin(2.5 * p.x + phase_y);
    return {xx * x + xy * y + shift_x, yx * x + yy * y + shift_y};
  }
};

void draw_clutter(Canvas& canvas, Random& random) {
  const auto lines = random.below(clutter_max + 1);
  for (std::uint64_t i = 0; i < lines; ++i) {
    const Point a = {random.uniform(0, glyph_side), random.uniform(0, glyph_side)};
    const double angle = random.uniform(0, 2 * std::numbers::pi);
    const double length = random.uniform(clutter_length_min, clutter_length_max);
    const Pen pen = {random.uniform(pen_min, pen_max),
                     random.uniform(clutter_ink_min, clutter_ink_max)};
    draw_line(canvas, a, {a.x + length * std::cos(angle), a.y + length * std::sin(angle)}, pen);
  }
}

// Cheap, nearly normal noise: the sum of four uniform bytes has a standard deviation of 147.8.
double noise(Random& random) {
  const std::uint32_t bits = random.next();
  const int sum =
      static_cast<int>((bits & 255) + (bits >> 8 & 255) + (bits >> 16 & 255) + (bits >> 24));
  return (sum - 510) / 147.8;
}

}  // namespace

GlyphImage draw_glyph(int digit, Random& random) {
  Canvas canvas{};
  draw_clutter(canvas, random);

  const auto& shapes = glyph_shapes(digit);
  const auto& strokes = shapes[random.below(shapes.size())];
  const Map map(random);
  const Pen pen = {random.uniform(pen_min, pen_max), random.uniform(ink_min, 1)};
  for (const Stroke& stroke : strokes)
    for (std::size_t i = 0; i + 1 < stroke.size(); ++i)
      draw_line(canvas, map(stroke[i]), map(stroke[i + 1]), pen);

  const double deviation = random.uniform(noise_min, noise_max);
  GlyphImage image;
  for (std::size_t i = 0; i < canvas.size(); ++i) {
    const double value = std::clamp(canvas[i] + deviation * noise(random), 0.0, 1.0);
    image[i] = static_cast<std::uint8_t>(std::lround(255 * value));
  }
  return image;
}

}  // namespace pipetrain
