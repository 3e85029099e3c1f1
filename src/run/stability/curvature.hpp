// The largest curvature of a function, which is the largest eigenvalue of its Hessian, by power
// iteration. All that is known of the Hessian is its product with a direction.
#pragma once

#include <functional>
#include <optional>
#include <vector>

namespace pipetrain {

using Direction = std::vector<float>;

struct Curvature {
  double value = 0;     // in that direction; 0 or below if no positive one was found
  Direction direction;  // length 1
  double change = 0;    // of the value in the last iteration, relative
  int iterations = 0;
};

// `times`: the Hessian times a direction of length 1; nothing if it is not finite. Called at most
// `iterations` times, the same number again if a negative eigenvalue came first, fewer once the
// value changes by less than 1%. `begin`: of any length above 0; the result of an earlier call
// saves iterations. Returns nothing if the Hessian gave nothing or 0.
std::optional<Curvature> largest_curvature(
    const std::function<std::optional<Direction>(const Direction&)>& times, Direction begin,
    int iterations);

double length_of(const Direction& direction);

}  // namespace pipetrain
