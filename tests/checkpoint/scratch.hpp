// A folder of a test's own, removed at its end, and a search for words in a message.
#pragma once

#include <stdlib.h>

#include <filesystem>
#include <string>

#include "catch.hpp"

struct Scratch {
  Scratch() {
    std::string name = std::filesystem::temp_directory_path() / "pipetrain-checkpoint-XXXXXX";
    REQUIRE(mkdtemp(name.data()));
    path = name;
  }
  ~Scratch() {
    std::error_code ignored;
    std::filesystem::remove_all(path, ignored);
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  std::filesystem::path path;
};

inline bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}
