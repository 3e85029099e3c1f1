// What the fuzz targets share. A target reads one input as if it came from outside. The project's
// own errors are how a reader refuses it; anything else that escapes is a finding.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <string_view>

#include "base/error.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t count);

namespace pipetrain::fuzz {

inline std::string_view text_of(const std::uint8_t* bytes, std::size_t count) {
  return {reinterpret_cast<const char*>(bytes), count};
}

template <class Read>
int refused_or_read(Read read) {
  try {
    read();
  } catch (const Error&) {
  }
  return 0;
}

// A property that has to hold of what was read.
inline void require(bool holds, std::string_view property) {
  if (holds) return;
  std::fprintf(stderr, "does not hold: %.*s\n", static_cast<int>(property.size()), property.data());
  std::abort();
}

// A file in memory, for readers that open paths: rewritten for each input.
class MemoryFile {
 public:
  MemoryFile();
  ~MemoryFile();
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;

  const std::filesystem::path& holding(std::string_view content);

 private:
  int descriptor_;
  std::filesystem::path path_;
};

}  // namespace pipetrain::fuzz
