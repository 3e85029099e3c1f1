// A file that is being written: counts and checksums every byte, and flushes everything to the disk
// before it is closed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string_view>

namespace pipetrain {

struct FileSum {
  std::uint64_t bytes = 0;
  std::uint32_t crc32 = 0;  // as zlib and gzip compute it
  bool operator==(const FileSum&) const = default;
};

// Extends `sum` by these bytes.
void add_bytes(FileSum& sum, const void* bytes, std::size_t count);

// DeviceError as soon as the disk refuses something. `shown` is the file's name in messages.
class OutputFile {
 public:
  OutputFile(const std::filesystem::path& path, const std::filesystem::path& shown);
  explicit OutputFile(const std::filesystem::path& path) : OutputFile(path, path) {}
  ~OutputFile();
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  void write(const void* bytes, std::size_t count);
  FileSum finish();  // flushes to the disk and closes; must be the last call

 private:
  std::filesystem::path shown_;
  int out_ = -1;
  FileSum sum_;
};

// Makes new names and removals in a folder survive a power cut.
void flush_folder(const std::filesystem::path& folder, const std::filesystem::path& shown);

// Throws DeviceError "FILE: cannot be WHAT: reason (errno); what to do".
[[noreturn]] void fail_file(const std::filesystem::path& file, std::string_view what);
[[noreturn]] void fail_file(const std::filesystem::path& file, std::string_view what,
                            std::string_view why);

}  // namespace pipetrain
