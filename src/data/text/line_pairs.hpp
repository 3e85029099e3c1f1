// Lines of two files that are translations of each other, as they are written: what translations
// are compared with. Pieces do not give a line back as it was: they normalise it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace pipetrain {

struct LinePairs {
  std::filesystem::path source, target;
  std::optional<std::vector<std::int64_t>> lines;  // from 1, ascending; none: all
};

// DataError as of LineFile, and where the file has fewer lines.
std::vector<std::string> read_lines(const std::filesystem::path& file,
                                    const std::optional<std::vector<std::int64_t>>& lines);

}  // namespace pipetrain
