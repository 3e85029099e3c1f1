#include "data/text/line_file.hpp"

#include <spdlog/fmt/fmt.h>

#include <algorithm>

#include "base/error.hpp"
#include "data/text/utf8.hpp"

namespace pipetrain {

namespace {

constexpr std::size_t chunk_bytes = std::size_t{1} << 16;

}  // namespace

LineFile::LineFile(const std::filesystem::path& path) : path_(path), bytes_(path) {}

void LineFile::fail(std::string_view why) const {
  throw DataError(fmt::format("{}:{}: {}", path_.string(), lines_ + 1, why));
}

bool LineFile::read_more() {
  buffer_.erase(0, begin_);
  begin_ = 0;
  const std::size_t had = buffer_.size();
  buffer_.resize(had + chunk_bytes);
  const std::size_t got =
      bytes_.read_some(reinterpret_cast<std::uint8_t*>(buffer_.data() + had), chunk_bytes);
  buffer_.resize(had + got);
  return got > 0;
}

std::optional<std::string_view> LineFile::next() {
  std::size_t seen = begin_;  // no line ends before this
  std::size_t end;
  while ((end = buffer_.find('\n', seen)) == std::string::npos) {
    const std::size_t rest = buffer_.size() - begin_;
    if (rest > line_bytes_max) break;
    seen = rest;  // the rest moves to the front
    if (read_more()) continue;
    if (rest == 0) return {};
    break;
  }
  const std::size_t past = std::min(end, buffer_.size());
  std::string_view line = std::string_view(buffer_).substr(begin_, past - begin_);
  if (line.size() > line_bytes_max)
    fail(
        fmt::format("the line is longer than {} bytes; write one sentence a line", line_bytes_max));
  begin_ = std::min(past + 1, buffer_.size());
  if (line.ends_with('\r')) line.remove_suffix(1);
  if (const std::size_t valid = valid_utf8_bytes(line); valid < line.size())
    fail(fmt::format("invalid UTF-8: byte {} of the line is 0x{:02x}; save the file as UTF-8",
                     valid, static_cast<std::uint8_t>(line[valid])));
  ++lines_;
  return line;
}

}  // namespace pipetrain
