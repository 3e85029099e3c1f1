// The largest curvature of a function: the eigenvalue of its Hessian that is furthest above 0, by
// power iteration. The Hessian is known by what it makes of a direction alone.
#pragma once

#include <functional>
#include <optional>
#include <vector>

namespace pipetrain {

using Direction = std::vector<float>;

struct Curvature {
  double value = 0;     // of the direction; not above 0 where none was found that is
  Direction direction;  // length 1
  double change = 0;    // relative, of the value in the last iteration
  int iterations = 0;
};

// `times`: the Hessian times a direction of length 1; nothing where it is not finite. At most
// `iterations` of them, as many again where an eigenvalue below 0 came first, fewer once the value
// changes by less than 1%. `begin`: any length above 0; of an earlier call, it saves iterations.
// Nothing where the Hessian gave nothing, or 0.
std::optional<Curvature> largest_curvature(
    const std::function<std::optional<Direction>(const Direction&)>& times, Direction begin,
    int iterations);

double length_of(const Direction& direction);

}  // namespace pipetrain
