#include "report/numbers.hpp"

#include <spdlog/fmt/fmt.h>

#include <cmath>

namespace pipetrain {

std::string count_text(std::int64_t count) {
  std::string digits = std::to_string(count);
  const std::size_t sign = count < 0 ? 1 : 0;
  for (std::size_t at = digits.size(); at > sign + 3;) digits.insert(at -= 3, ",");
  return digits;
}

std::string share_text(double share) { return fmt::format("{:.1f}%", 100 * share); }

std::string seconds_text(double seconds) {
  if (seconds < 10) return fmt::format("{:.2f} s", seconds);
  if (seconds < 60) return fmt::format("{:.1f} s", seconds);
  if (!(seconds < 1e9)) return fmt::format("{:.3g} s", seconds);
  const auto whole = static_cast<std::int64_t>(std::llround(seconds));
  if (whole < 3600) return fmt::format("{} min {} s", whole / 60, whole % 60);
  return fmt::format("{} h {} min", count_text(whole / 3600), whole % 3600 / 60);
}

std::string coordinate(double value) { return fmt::format("{:g}", std::round(10 * value) / 10); }

}  // namespace pipetrain
