// A UTF-8 text, plain or gzip, read line by line from front to back: only a part of it and one line
// are in memory. Every failure is a DataError that names the file, and the line if there is one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "data/byte_file.hpp"

namespace pipetrain {

inline constexpr std::size_t line_bytes_max = std::size_t{1} << 20;  // longer ones are refused

class LineFile {
 public:
  explicit LineFile(const std::filesystem::path& path);

  // The next line, checked to be UTF-8, without its end ("\n" or "\r\n"); nothing at the end of the
  // file. The last line needs no end. Valid until the next call.
  std::optional<std::string_view> next();
  // Lines read so far, which is also the number of the last one.
  std::int64_t lines() const { return lines_; }
  const std::filesystem::path& path() const { return path_; }

 private:
  bool read_more();
  [[noreturn]] void fail(std::string_view why) const;  // names the line that would be read next

  std::filesystem::path path_;
  ByteFile bytes_;
  std::string buffer_;  // read but not returned yet, from begin_ on
  std::size_t begin_ = 0;
  std::int64_t lines_ = 0;
};

}  // namespace pipetrain
