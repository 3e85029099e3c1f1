// A file that grows record by record and is complete after each. It bypasses stdio, so that a
// killed process leaves no half record in a buffer, and a full disk none in the file.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string_view>

namespace pipetrain {

// DeviceError, with the file and the system's reason, if the disk refuses something; the file then
// still ends with a whole record.
class AppendFile {
 public:
  // Keeps the first `keep_bytes` of an existing file and drops the rest.
  explicit AppendFile(const std::filesystem::path& path, std::size_t keep_bytes = 0);
  ~AppendFile();
  AppendFile(const AppendFile&) = delete;
  AppendFile& operator=(const AppendFile&) = delete;

  void write(std::string_view record);
  void flush() const;  // it is on disk when this returns
  void close();        // flushes too

 private:
  [[noreturn]] void fail(std::string_view what) const;  // with the reason from errno
  [[noreturn]] void fail(std::string_view what, std::string_view why) const;

  std::filesystem::path path_;
  int file_ = -1;
  std::size_t bytes_ = 0;  // in whole records
};

}  // namespace pipetrain
