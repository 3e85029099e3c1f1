// A UTF-8 text from a stream, such as a pipe or a terminal, line by line, as LineFile reads files.
#pragma once

#include <cstdint>
#include <istream>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace pipetrain {

class LineStream {
 public:
  // `name` begins messages; the stream must outlive the reader.
  LineStream(std::istream& in, std::string name);

  // The next line, without its end ("\n" or "\r\n"), checked to be UTF-8; nothing at the end of the
  // stream. The last line needs no end. Valid until the next call. DataError, with name and line:
  // invalid UTF-8, a line longer than line_bytes_max, or a stream that fails.
  std::optional<std::string_view> next();
  // Lines read so far, which is also the number of the last one.
  std::int64_t lines() const { return lines_; }

 private:
  [[noreturn]] void fail(std::string_view why) const;  // names the line that would be read next

  std::istream& in_;
  std::string name_;
  std::vector<char> buffer_;
  std::int64_t lines_ = 0;
};

}  // namespace pipetrain
