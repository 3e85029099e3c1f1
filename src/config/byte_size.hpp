// Sizes as configs write them: "8GiB", "1.5 MiB".
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace pipetrain::config {

// In bytes; none if the text is not a size or the number does not fit.
std::optional<std::int64_t> parse_bytes(const std::string& text);

// As TOML: a quoted size in the largest unit that divides it ("8GiB"), or the plain number.
std::string write_bytes(std::int64_t bytes);

}  // namespace pipetrain::config
