#include "run/stability/curvature.hpp"

#include <cmath>
#include <limits>
#include <utility>

namespace pipetrain {
namespace {

constexpr double kSettled = 0.01;  // relative change of the value

double product_of(const Direction& a, const Direction& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += static_cast<double>(a[i]) * b[i];
  return sum;
}

// Scales to length 1; false if the length is 0 or not finite.
bool normalise(Direction& direction) {
  const double length = length_of(direction);
  if (!(length > 0) || !std::isfinite(length)) return false;
  for (float& value : direction) value = static_cast<float>(value / length);
  return true;
}

}  // namespace

double length_of(const Direction& direction) { return std::sqrt(product_of(direction, direction)); }

std::optional<Curvature> largest_curvature(
    const std::function<std::optional<Direction>(const Direction&)>& times, Direction begin,
    int iterations) {
  Curvature found{.direction = std::move(begin)};
  if (!normalise(found.direction)) return std::nullopt;
  // Added to every eigenvalue once a negative one has proved largest in size, so that the iteration
  // finds the other end.
  double shift = 0, last = std::numeric_limits<double>::quiet_NaN();
  int left = iterations;
  while (left-- > 0) {
    std::optional<Direction> next = times(found.direction);
    if (!next) return std::nullopt;
    ++found.iterations;
    found.value = product_of(found.direction, *next);
    found.change = std::abs(found.value - last) / std::abs(found.value);
    if (found.value > 0 && found.change < kSettled) break;
    last = found.value;
    if (found.value < 0) {
      if (shift == 0) left = iterations;
      shift = std::max(shift, length_of(*next));
    }
    for (std::size_t i = 0; i < next->size(); ++i)
      (*next)[i] += static_cast<float>(shift * found.direction[i]);
    if (!normalise(*next)) return std::nullopt;
    found.direction = *std::move(next);
  }
  return found;
}

}  // namespace pipetrain
