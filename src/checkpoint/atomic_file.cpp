#include "checkpoint/atomic_file.hpp"

#include <fcntl.h>
#include <spdlog/fmt/fmt.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "base/error.hpp"

namespace pipetrain {

AtomicFile::AtomicFile(const std::filesystem::path& path)
    : path_(path),
      part_(path.string() + ".part"),
      out_(::open(part_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644)) {
  if (out_ < 0) fail("created");
}

AtomicFile::~AtomicFile() {
  if (out_ >= 0) ::close(out_);
  if (!renamed_) ::unlink(part_.c_str());
}

void AtomicFile::write(const void* bytes, std::size_t count) {
  const auto* at = static_cast<const std::byte*>(bytes);
  while (count > 0) {
    const ssize_t done = ::write(out_, at, count);
    if (done < 0 && errno == EINTR) continue;
    if (done < 0) fail("written");
    at += done;
    count -= static_cast<std::size_t>(done);
  }
}

void AtomicFile::commit() {
  if (::fsync(out_) != 0) fail("flushed to the disk");
  if (::close(std::exchange(out_, -1)) != 0) fail("closed");
  if (::rename(part_.c_str(), path_.c_str()) != 0) fail("renamed into place");
  renamed_ = true;
  flush_folder();
}

// The new name itself must outlive a power cut too.
void AtomicFile::flush_folder() const {
  const auto folder = path_.has_parent_path() ? path_.parent_path() : std::filesystem::path(".");
  const int entry = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (entry < 0) fail("flushed to the disk with its folder");
  const bool flushed = ::fsync(entry) == 0;
  const int why = errno;
  const bool closed = ::close(entry) == 0;
  if (!flushed) errno = why;
  if (!flushed || !closed) fail("flushed to the disk with its folder");
}

void AtomicFile::fail(std::string_view what) const {
  throw DeviceError(fmt::format(
      "{}: cannot be {}: {}; check the disk and its permissions, then run the same command again",
      path_.string(), what, std::strerror(errno)));
}

}  // namespace pipetrain
