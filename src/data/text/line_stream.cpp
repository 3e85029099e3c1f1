#include "data/text/line_stream.hpp"

#include <spdlog/fmt/fmt.h>

#include <utility>

#include "base/error.hpp"
#include "data/text/line_file.hpp"
#include "data/text/utf8.hpp"

namespace pipetrain {

LineStream::LineStream(std::istream& in, std::string name)
    : in_(in), name_(std::move(name)), buffer_(line_bytes_max + 2) {}  // "\r" or "\n", and a zero

void LineStream::fail(std::string_view why) const {
  throw DataError(fmt::format("{}:{}: {}", name_, lines_ + 1, why));
}

std::optional<std::string_view> LineStream::next() {
  if (in_.eof()) return {};
  in_.getline(buffer_.data(), static_cast<std::streamsize>(buffer_.size()));
  if (in_.bad()) fail("cannot be read");
  auto count = static_cast<std::size_t>(in_.gcount());
  if (in_.eof() && count == 0) return {};
  const bool cut = in_.fail();  // no line end within the buffer
  if (!in_.eof() && !cut) --count;
  std::string_view line(buffer_.data(), count);
  if (line.ends_with('\r')) line.remove_suffix(1);
  if (cut || line.size() > line_bytes_max)
    fail(
        fmt::format("the line is longer than {} bytes; write one sentence a line", line_bytes_max));
  if (const std::size_t valid = valid_utf8_bytes(line); valid < line.size())
    fail(fmt::format("invalid UTF-8: byte {} of the line is 0x{:02x}; send the text as UTF-8",
                     valid, static_cast<unsigned char>(line[valid])));
  ++lines_;
  return line;
}

}  // namespace pipetrain
