// A file that is being written: every byte is counted and summed, and is on the disk before it is
// closed.
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

// `sum` continues over more bytes.
void add_bytes(FileSum& sum, const void* bytes, std::size_t count);

// DeviceError as soon as the disk refuses something. `shown` is the name that messages use.
class OutputFile {
 public:
  OutputFile(const std::filesystem::path& path, const std::filesystem::path& shown);
  explicit OutputFile(const std::filesystem::path& path) : OutputFile(path, path) {}
  ~OutputFile();
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  void write(const void* bytes, std::size_t count);
  FileSum finish();  // flushed to the disk and closed; the last call

 private:
  std::filesystem::path shown_;
  int out_ = -1;
  FileSum sum_;
};

// New names and removals in a folder outlive a power cut once this returns.
void flush_folder(const std::filesystem::path& folder, const std::filesystem::path& shown);

// "FILE: cannot be WHAT: reason (errno); what to do", as DeviceError.
[[noreturn]] void fail_file(const std::filesystem::path& file, std::string_view what);
[[noreturn]] void fail_file(const std::filesystem::path& file, std::string_view what,
                            std::string_view why);

}  // namespace pipetrain
