// Reading a file: whatever prevents it is one type of error, which names the file and the reason.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include "base/error.hpp"

namespace pipetrain {

// "FILE: cannot be read: REASON; check the path and its permissions". A caller that knows what the
// file is for catches this error, and reports why() in its own words.
class CannotRead : public DataError {
 public:
  CannotRead(const std::filesystem::path& file, std::string why, int error = 0);
  const std::string& why() const { return why_; }  // "Permission denied", "it is a folder"
  // Is the file itself, or its name, the reason? If not, the machine is: too many open files, no
  // memory, a failing disk.
  bool is_of_the_file() const;

 private:
  std::string why_;
  int error_;  // errno; 0 where the system had no objection
};

// These throw CannotRead if the system cannot say. A symbolic link counts as its target.
bool is_there(const std::filesystem::path& path);
bool is_folder(const std::filesystem::path& path);
bool is_file(const std::filesystem::path& path);

// Reads from front to back, except for skip_to(). Every call may throw CannotRead.
class InputFile {
 public:
  explicit InputFile(const std::filesystem::path& path);
  ~InputFile();
  InputFile(const InputFile&) = delete;
  InputFile& operator=(const InputFile&) = delete;

  std::uint64_t size() const { return size_; }         // when it was opened
  std::size_t read_some(void* to, std::size_t count);  // 0 at the end only
  void read(void* to, std::size_t count);              // exactly `count` bytes
  void skip_to(std::uint64_t offset);                  // the next read begins there

 private:
  std::filesystem::path path_;
  int descriptor_ = -1;
  std::uint64_t size_ = 0;
};

inline constexpr std::uint64_t kLargestText = std::uint64_t{64} << 20;  // of a config or a model

// A whole file of at most `most` bytes.
std::string read_whole_file(const std::filesystem::path& file, std::uint64_t most = kLargestText);
// The same for a pipe, such as a shell's <(...), or a terminal: waits for the writer.
std::string read_whole_stream(const std::filesystem::path& file, std::uint64_t most = kLargestText);

// Lines of a text that may be torn: a line longer than `most` bytes ends the text, as damage does.
class TextLines {
 public:
  explicit TextLines(const std::filesystem::path& path, std::size_t most = std::size_t{16} << 20);
  // The next line that is whole, without its '\n'; false after the last one.
  bool next(std::string& line);

 private:
  InputFile file_;
  std::size_t most_;
  std::string buffer_;
  std::size_t begin_ = 0;
};

}  // namespace pipetrain
