// Files for readers, without a disk: a target runs thousands of inputs a second.
#include <sys/mman.h>
#include <unistd.h>

#include "target.hpp"

namespace pipetrain::fuzz {

MemoryFile::MemoryFile()
    : descriptor_(memfd_create("fuzz", MFD_CLOEXEC)),
      path_("/proc/self/fd/" + std::to_string(descriptor_)) {
  require(descriptor_ >= 0, "memfd_create gives a file");
}

MemoryFile::~MemoryFile() { ::close(descriptor_); }

const std::filesystem::path& MemoryFile::holding(std::string_view content) {
  const auto length = static_cast<off_t>(content.size());
  const bool done = ::ftruncate(descriptor_, 0) == 0 &&
                    ::pwrite(descriptor_, content.data(), content.size(), 0) == length;
  require(done, "a file in memory takes its content");
  return path_;
}

}  // namespace pipetrain::fuzz
