// Sizes as configs say them: "8GiB", "1.5 MiB".
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace pipetrain::config {

// Bytes; none where it is no such text or does not fit.
std::optional<std::int64_t> parse_bytes(const std::string& text);

// In TOML: "8GiB" in quotes by the largest unit that divides it, or the plain number.
std::string write_bytes(std::int64_t bytes);

}  // namespace pipetrain::config
