// Lines of two files that are translations of each other, as written: the references for
// translations. Pieces cannot restore a line exactly, because they normalise it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace pipetrain {

struct LinePairs {
  std::filesystem::path source, target;
  std::optional<std::vector<std::int64_t>> lines;  // from 1, ascending; none: all lines
};

// DataError as for LineFile, and if the file has too few lines.
std::vector<std::string> read_lines(const std::filesystem::path& file,
                                    const std::optional<std::vector<std::int64_t>>& lines);

}  // namespace pipetrain
