// Config files for tests: written to a folder of their own, gone afterwards.
#pragma once

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "config/read.hpp"

namespace pipetrain {

inline const std::string kModel = "[model]\nfile = \"m.toml\"\n";

class Folder {
 public:
  Folder() {
    std::string name = std::filesystem::temp_directory_path() / "pipetrain-config-XXXXXX";
    path_ = mkdtemp(name.data());
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  std::filesystem::path path() const { return path_; }
  std::filesystem::path write(const std::string& name, const std::string& text) const {
    const auto file = path_ / name;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file) << text;
    return file;
  }

 private:
  std::filesystem::path path_;
};

inline ReadConfig read_text(const std::string& text, const std::vector<std::string>& sets = {}) {
  const Folder folder;
  return read_config({folder.write("run.toml", text)}, sets);
}

// The message that a text is refused with, without the folder's name; empty if it is accepted.
inline std::string refusal(const std::string& text, const std::vector<std::string>& sets = {}) {
  const Folder folder;
  try {
    read_config({folder.write("run.toml", text)}, sets);
  } catch (const UsageError& error) {
    std::string message = error.what();
    const std::string prefix = folder.path().string() + "/";
    for (auto at = message.find(prefix); at != message.npos; at = message.find(prefix)) {
      message.erase(at, prefix.size());
    }
    return message;
  }
  return "";
}

}  // namespace pipetrain
