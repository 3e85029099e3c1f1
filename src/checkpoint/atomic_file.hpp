// A file that is written whole or not at all: under a name of its own first, flushed to the disk,
// then renamed over the old one.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string_view>

namespace pipetrain {

// DeviceError, with the file and the system's reason, as soon as the disk refuses something. Until
// commit() the old file is untouched; without it nothing of the new one stays behind. What a killed
// process leaves (`<file>.part`) is overwritten by the next one.
class AtomicFile {
 public:
  explicit AtomicFile(const std::filesystem::path& path);
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  void write(const void* bytes, std::size_t count);
  void commit();

 private:
  [[noreturn]] void fail(std::string_view what) const;
  void flush_folder() const;

  std::filesystem::path path_, part_;
  int out_ = -1;
  bool renamed_ = false;
};

}  // namespace pipetrain
