#include "data/text/line_pairs.hpp"

#include <spdlog/fmt/fmt.h>

#include "base/counted.hpp"
#include "base/error.hpp"
#include "data/text/line_file.hpp"

namespace pipetrain {

std::vector<std::string> read_lines(const std::filesystem::path& file,
                                    const std::optional<std::vector<std::int64_t>>& lines) {
  LineFile in(file);
  std::vector<std::string> read;
  while (!lines || read.size() < lines->size()) {
    const auto line = in.next();
    if (!line) break;
    if (!lines || (*lines)[read.size()] == in.lines()) read.emplace_back(*line);
  }
  if (lines && read.size() < lines->size())
    throw DataError(fmt::format("{}: has {}, but line {} is needed; was the file changed?",
                                file.string(), counted(in.lines(), "line"), (*lines)[read.size()]));
  return read;
}

}  // namespace pipetrain
