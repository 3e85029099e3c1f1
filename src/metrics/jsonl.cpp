#include "metrics/jsonl.hpp"

#include <fcntl.h>
#include <spdlog/fmt/fmt.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/error.hpp"

namespace pipetrain {

MetricsFile::MetricsFile(const std::filesystem::path& path)
    : path_(path),
      file_(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0644)) {
  if (file_ < 0) fail("created");
}

MetricsFile::~MetricsFile() {
  if (file_ >= 0) ::close(file_);
}

// Past stdio: a killed process leaves no half of a line in a buffer, a full disk none in the file.
void MetricsFile::write(const nlohmann::ordered_json& event) {
  constexpr auto replace = nlohmann::ordered_json::error_handler_t::replace;  // of bytes no UTF-8
  const std::string line = event.dump(-1, ' ', false, replace) + "\n";
  std::size_t done = 0;
  while (done < line.size()) {
    const ssize_t wrote = ::write(file_, line.data() + done, line.size() - done);
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote < 0) {
      const int why = errno;
      if (done > 0) (void)!::ftruncate(file_, static_cast<off_t>(bytes_));
      errno = why;
      fail("written");
    }
    done += static_cast<std::size_t>(wrote);
  }
  bytes_ += line.size();
}

void MetricsFile::close() {
  if (::fsync(file_) != 0) fail("flushed to the disk");
  if (::close(std::exchange(file_, -1)) != 0) fail("closed");
}

void MetricsFile::fail(std::string_view what) const {
  throw DeviceError(fmt::format(
      "{}: cannot be {}: {}; check the disk and its permissions, then run the same command again",
      path_.string(), what, std::strerror(errno)));
}

}  // namespace pipetrain
