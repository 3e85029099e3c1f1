#include "metrics/jsonl.hpp"

#include <fcntl.h>
#include <spdlog/fmt/fmt.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/error.hpp"

namespace pipetrain {

namespace {

// Does what stands in this line belong to a training that has come to `step` and goes on?
bool stays(const std::string& line, std::int64_t step) {
  const auto event = nlohmann::json::parse(line, nullptr, false);
  if (!event.is_object()) return false;
  const std::string kind = event.value("event", "");
  const auto at = event.find("step");
  return kind != "end" && kind != "error" && at != event.end() && at->is_number_integer() &&
         at->get<std::int64_t>() <= step;
}

}  // namespace

MetricsFile::MetricsFile(const std::filesystem::path& path, std::int64_t keep_steps)
    : path_(path), file_(::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644)) {
  if (file_ < 0) fail("created");
  cut_back(keep_steps);
}

void MetricsFile::cut_back(std::int64_t keep_steps) {
  if (keep_steps > 0) {
    std::ifstream lines(path_);
    for (std::string line; std::getline(lines, line) && !lines.eof() && stays(line, keep_steps);)
      bytes_ += line.size() + 1;
  }
  struct stat status {};
  if (::fstat(file_, &status) != 0) fail("read");
  const auto end = static_cast<off_t>(bytes_);
  if (status.st_size != end && ::ftruncate(file_, end) != 0) fail("cut back");
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

void MetricsFile::flush() {
  if (::fsync(file_) != 0) fail("flushed to the disk");
}

void MetricsFile::close() {
  flush();
  if (::close(std::exchange(file_, -1)) != 0) fail("closed");
}

void MetricsFile::fail(std::string_view what) const {
  throw DeviceError(fmt::format(
      "{}: cannot be {}: {}; check the disk and its permissions, then run the same command again",
      path_.string(), what, std::strerror(errno)));
}

}  // namespace pipetrain
