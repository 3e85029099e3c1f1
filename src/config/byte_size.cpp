#include "config/byte_size.hpp"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <cmath>
#include <exception>
#include <string_view>

namespace pipetrain::config {
namespace {

constexpr struct {
  std::string_view name;
  std::int64_t bytes;
} kUnits[] = {{"B", 1},
              {"KiB", std::int64_t{1} << 10},
              {"MiB", std::int64_t{1} << 20},
              {"GiB", std::int64_t{1} << 30},
              {"TiB", std::int64_t{1} << 40},
              {"KB", 1000},
              {"MB", 1000 * 1000},
              {"GB", 1000 * 1000 * 1000}};

}  // namespace

std::optional<std::int64_t> parse_bytes(const std::string& text) {
  const std::size_t digits = text.find_first_not_of("0123456789.");
  if (digits == 0 || digits == text.npos) return std::nullopt;
  double count = 0;
  std::size_t used = 0;
  try {
    count = std::stod(text.substr(0, digits), &used);
  } catch (const std::exception&) {
    return std::nullopt;
  }
  if (used != digits) return std::nullopt;
  const std::size_t unit = text.find_first_not_of(' ', digits);
  for (const auto& known : kUnits) {
    if (unit == text.npos || text.compare(unit, text.npos, known.name) != 0) continue;
    const double bytes = count * static_cast<double>(known.bytes);
    if (bytes >= 9e18) return std::nullopt;
    return static_cast<std::int64_t>(std::llround(bytes));
  }
  return std::nullopt;
}

std::string write_bytes(std::int64_t bytes) {
  for (const std::string_view unit : {"TiB", "GiB", "MiB", "KiB"}) {
    const auto known = std::ranges::find(kUnits, unit, [](const auto& u) { return u.name; });
    if (bytes > 0 && bytes % known->bytes == 0) {
      return fmt::format("\"{}{}\"", bytes / known->bytes, unit);
    }
  }
  return fmt::format("{}", bytes);
}

}  // namespace pipetrain::config
