#include "metrics/append_file.hpp"

#include <fcntl.h>
#include <spdlog/fmt/fmt.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "base/error.hpp"
#include "base/open_regular.hpp"

namespace pipetrain {

AppendFile::AppendFile(const std::filesystem::path& path, std::size_t keep_bytes)
    : path_(path), bytes_(keep_bytes) {
  const int emptied = keep_bytes == 0 ? O_TRUNC : 0;
  const Opened opened = open_regular(path, O_WRONLY | O_CREAT | O_APPEND | emptied);
  if (opened.descriptor < 0) fail("created", opened.problem);
  file_ = opened.descriptor;
  if (keep_bytes > 0 && ::ftruncate(file_, static_cast<off_t>(keep_bytes)) != 0) {
    const int why = errno;
    ::close(std::exchange(file_, -1));
    errno = why;
    fail("cut back");
  }
}

AppendFile::~AppendFile() {
  if (file_ >= 0) ::close(file_);
}

void AppendFile::write(std::string_view record) {
  std::size_t done = 0;
  while (done < record.size()) {
    const ssize_t wrote = ::write(file_, record.data() + done, record.size() - done);
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote < 0) {
      const int why = errno;
      if (done > 0) (void)!::ftruncate(file_, static_cast<off_t>(bytes_));
      errno = why;
      fail("written");
    }
    done += static_cast<std::size_t>(wrote);
  }
  bytes_ += record.size();
}

void AppendFile::flush() const {
  if (::fsync(file_) != 0) fail("flushed to the disk");
}

void AppendFile::close() {
  flush();
  if (::close(std::exchange(file_, -1)) != 0) fail("closed");
}

void AppendFile::fail(std::string_view what) const { fail(what, std::strerror(errno)); }

void AppendFile::fail(std::string_view what, std::string_view why) const {
  throw DeviceError(fmt::format(
      "{}: cannot be {}: {}; check the disk and its permissions, then run the same command again",
      path_.string(), what, why));
}

}  // namespace pipetrain
