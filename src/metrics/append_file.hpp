// A file that grows record by record and is whole after each: past stdio, so that a killed process
// leaves no half of a record in a buffer, and a full disk none in the file.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string_view>

namespace pipetrain {

// DeviceError, with the file and the system's reason, when the disk refuses something; the file
// then still ends with a whole record.
class AppendFile {
 public:
  // Continues after the first `keep_bytes` of what is there; the rest goes.
  explicit AppendFile(const std::filesystem::path& path, std::size_t keep_bytes = 0);
  ~AppendFile();
  AppendFile(const AppendFile&) = delete;
  AppendFile& operator=(const AppendFile&) = delete;

  void write(std::string_view record);
  void flush() const;  // on the disk when this returns
  void close();        // flushed, too

 private:
  [[noreturn]] void fail(std::string_view what) const;  // by errno
  [[noreturn]] void fail(std::string_view what, std::string_view why) const;

  std::filesystem::path path_;
  int file_ = -1;
  std::size_t bytes_ = 0;  // of whole records
};

}  // namespace pipetrain
