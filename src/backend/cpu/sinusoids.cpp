// A table grows by whole parts, so that rows which kernels already read never move.
#include "backend/cpu/sinusoids.hpp"

#include <cmath>

namespace pipetrain::cpu {
namespace {

std::shared_ptr<const float[]> sinusoid_rows(std::int64_t first, std::int64_t width) {
  const auto rows = std::make_shared<float[]>(SinusoidTable::kPartRows * width);
  float* next = rows.get();
  for (std::int64_t t = first; t < first + SinusoidTable::kPartRows; ++t)
    for (std::int64_t c = 0; c < width; ++c) {
      const double exponent = static_cast<double>(c / 2 * 2) / static_cast<double>(width);
      const double angle = static_cast<double>(t) / std::pow(10000.0, exponent);
      *next++ = static_cast<float>(c % 2 == 0 ? std::sin(angle) : std::cos(angle));
    }
  return rows;
}

}  // namespace

SinusoidTable Sinusoids::table(std::int64_t length, std::int64_t width) {
  constexpr std::int64_t kRows = SinusoidTable::kPartRows;
  const std::int64_t parts = (length + kRows - 1) / kRows;
  const std::lock_guard lock(mutex_);
  SinusoidTable& longest = tables_.try_emplace(width, SinusoidTable{.width = width}).first->second;
  while (std::ssize(longest.parts) < parts)
    longest.parts.push_back(sinusoid_rows(std::ssize(longest.parts) * kRows, width));
  return {.width = width, .parts = {longest.parts.begin(), longest.parts.begin() + parts}};
}

}  // namespace pipetrain::cpu
