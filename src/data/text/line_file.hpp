// A UTF-8 text read line by line from front to back, plain or gzip: no more of it is in memory than
// a piece and one line. Every failure is a DataError that names the file, and the line where it has
// one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "data/byte_file.hpp"

namespace pipetrain {

inline constexpr std::size_t line_bytes_max = std::size_t{1} << 20;  // of a line; longer is refused

class LineFile {
 public:
  explicit LineFile(const std::filesystem::path& path);

  // The next line, checked to be UTF-8, without its end ("\n" or "\r\n"); empty at the end of the
  // file. A last line needs no end. Valid until the next call.
  std::optional<std::string_view> next();
  // Lines read so far, which is the number of the last one.
  std::int64_t lines() const { return lines_; }
  const std::filesystem::path& path() const { return path_; }

 private:
  bool read_more();
  [[noreturn]] void fail(std::string_view why) const;  // of the line that is read next

  std::filesystem::path path_;
  ByteFile bytes_;
  std::string buffer_;  // what is read and not yet handed out, from begin_ on
  std::size_t begin_ = 0;
  std::int64_t lines_ = 0;
};

}  // namespace pipetrain
