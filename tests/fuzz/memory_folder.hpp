// A folder of a target's own, in memory if the machine has such a place; removed at the program's
// end.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <string>

#include "target.hpp"

namespace pipetrain::fuzz {

class MemoryFolder {
 public:
  MemoryFolder() {
    const bool memory = std::filesystem::is_directory("/dev/shm");
    const std::filesystem::path parent =
        memory ? "/dev/shm" : std::filesystem::temp_directory_path();
    std::string name = (parent / "pipetrain-fuzz-XXXXXX").string();
    require(mkdtemp(name.data()) != nullptr, "there is a folder to write to");
    path_ = name;
  }
  ~MemoryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  MemoryFolder(const MemoryFolder&) = delete;
  MemoryFolder& operator=(const MemoryFolder&) = delete;
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace pipetrain::fuzz
