// Values for tests of device code, and how they are compared.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#include <vector>

#include "backend/cuda/device/planes.hpp"
#include "on_device.hpp"

namespace pipetrain::testing {

using Floats = std::vector<float>;
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

// Between -1 and 1; the same seed gives the same values.
inline Floats numbers(std::int64_t count, int seed = 0) {
  Floats values(static_cast<std::size_t>(count));
  auto state = static_cast<std::uint32_t>(seed) * 2654435761u + 12345u;
  for (float& value : values) {
    state = state * 1664525u + 1013904223u;
    value = static_cast<float>(static_cast<std::int32_t>(state)) * 0x1p-31f;
  }
  return values;
}

// Any NaN is the same as any other.
inline bool same_bits(const Floats& a, const Floats& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](float x, float y) {
    return (std::isnan(x) && std::isnan(y)) || std::memcmp(&x, &y, sizeof x) == 0;
  });
}

// The largest difference, relative to values above 1; infinite if a NaN or a length does not match.
inline double difference(const Floats& a, const Floats& b) {
  if (a.size() != b.size()) return HUGE_VAL;
  double largest = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const double apart = std::abs(double{a[i]} - b[i]) / std::max(1.0, std::abs(double{b[i]}));
    if (!(apart <= largest)) largest = std::isnan(apart) ? HUGE_VAL : apart;
  }
  return largest;
}

// visit(element, its channel)
template <class Visit>
void each(const cuda::Planes& planes, Visit visit) {
  std::size_t i = 0;
  for (std::int64_t n = 0; n < planes.samples; ++n)
    for (std::int64_t c = 0; c < planes.channels; ++c)
      for (std::int64_t k = 0; k < planes.inner; ++k) visit(i++, static_cast<std::size_t>(c));
}

}  // namespace pipetrain::testing
