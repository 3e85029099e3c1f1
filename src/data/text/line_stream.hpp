// A UTF-8 text from a stream, line by line, as LineFile reads files: what a pipe or a user sends.
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
  // `name` begins messages; the stream outlives the reader.
  LineStream(std::istream& in, std::string name);

  // The next line without its end ("\n" or "\r\n"), checked to be UTF-8; empty at the end of the
  // stream. A last line needs no end. Valid until the next call. DataError, with name and line:
  // what is no UTF-8, a line longer than line_bytes_max, or a stream that fails.
  std::optional<std::string_view> next();
  // Lines read so far, which is the number of the last one.
  std::int64_t lines() const { return lines_; }

 private:
  [[noreturn]] void fail(std::string_view why) const;  // of the line that is read next

  std::istream& in_;
  std::string name_;
  std::vector<char> buffer_;
  std::int64_t lines_ = 0;
};

}  // namespace pipetrain
