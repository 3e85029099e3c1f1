// A file that is written completely or not at all: first under another name, flushed to the disk,
// then renamed over the old one.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>

#include "checkpoint/output_file.hpp"

namespace pipetrain {

// DeviceError, with the file and the system's reason, as soon as the disk refuses something. The
// old file is untouched until commit(); without commit() nothing of the new one is left. What a
// killed process leaves (`<file>.part`) is overwritten by the next one.
class AtomicFile {
 public:
  explicit AtomicFile(const std::filesystem::path& path);
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  OutputFile& out() { return out_; }
  void write(const void* bytes, std::size_t count) { out_.write(bytes, count); }
  void commit();

 private:
  std::filesystem::path path_, part_;
  OutputFile out_;
  bool renamed_ = false;
};

// Writes a small file in one call.
void write_file(const std::filesystem::path& file, const std::string& text);

// For a file that --output names, before its text is there: UsageError if it is a folder, and the
// DeviceError of a write_file() that would fail before its first byte. Changes no file.
void check_output_file(const std::filesystem::path& file);

}  // namespace pipetrain
