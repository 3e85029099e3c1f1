#include "base/line_output.hpp"

#include <fcntl.h>
#include <poll.h>
#include <spdlog/fmt/fmt.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstring>
#include <exception>
#include <thread>
#include <utility>

#include "base/error.hpp"

namespace pipetrain {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kOpenFlags = O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;

// Opens the file again: an open file description of our own, on which no write waits. -1: refused.
int reopen(int descriptor, const struct stat& status) {
  // Each open of the multiplexer makes another terminal.
  if (S_ISCHR(status.st_mode) && status.st_rdev == makedev(5, 2)) return -1;
  const int own = ::open(fmt::format("/proc/self/fd/{}", descriptor).c_str(), kOpenFlags);
  if (own >= 0 || !S_ISCHR(status.st_mode)) return own;
  // After su the terminal belongs to another user, but may still be our controlling terminal.
  const int controlling = ::open("/dev/tty", kOpenFlags);
  unsigned device = 0;
  if (controlling >= 0 &&
      (::ioctl(controlling, TIOCGDEV, &device) != 0 || status.st_rdev != device)) {
    ::close(controlling);
    return -1;
  }
  return controlling;
}

bool is_terminal(int descriptor) {
  return ::isatty(descriptor) || errno == EIO;  // EIO: a terminal that was closed
}

// The most whole lines that a pipe takes at once or not at all, so that lines of other processes
// come only between them. A longer line is written in parts.
std::string_view first_piece(std::string_view text) {
  const std::string_view piece = text.substr(0, PIPE_BUF);
  const auto end = piece.rfind('\n');
  return end == piece.npos ? piece : piece.substr(0, end + 1);
}

bool try_later(int why) { return why == EAGAIN || why == EWOULDBLOCK || why == ENOBUFS; }

int milliseconds_until(Clock::time_point end) {
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(end - Clock::now());
  return static_cast<int>(std::max<std::int64_t>(0, left.count()));
}

}  // namespace

LineOutput::LineOutput(int descriptor, std::string name)
    : descriptor_(descriptor), name_(std::move(name)) {
  struct stat status {};
  const int flags = ::fcntl(descriptor, F_GETFL);
  if (::fstat(descriptor, &status) != 0 || flags < 0 || (flags & O_ACCMODE) == O_RDONLY) return;
  if (S_ISSOCK(status.st_mode)) {
    kind_ = Kind::Socket;
  } else if (S_ISFIFO(status.st_mode) || is_terminal(descriptor)) {
    reopened_ = reopen(descriptor, status);
    kind_ = reopened_ >= 0 ? Kind::Reopened : Kind::Asked;
  }
}

LineOutput::~LineOutput() {
  if (reopened_ >= 0) ::close(reopened_);
}

void LineOutput::write(std::string_view text) {
  const std::lock_guard lock(mutex_);
  advance();
  if (gone_) return;
  const bool room = backlog_.empty() || backlog_.size() + text.size() <= backlog_bytes;
  if (unreported_ > 0 || !room) {
    const auto lines = std::ranges::count(text, '\n');
    dropped_ += lines;
    unreported_ += lines;
    return;
  }
  backlog_ += text;
  advance();
}

void LineOutput::keep(std::string_view text) {
  const std::lock_guard lock(mutex_);
  advance();
  if (gone_) return;
  report_dropped();
  backlog_ += text;
  advance();
}

bool LineOutput::flush() {
  const std::lock_guard lock(mutex_);
  advance();
  return backlog_.empty();
}

// Writes what can be written at once.
void LineOutput::advance() {
  for (;;) {
    if (backlog_.empty()) report_dropped();
    if (backlog_.empty()) return;
    const auto wrote = write_some(kind_ == Kind::File ? backlog_ : first_piece(backlog_));
    const int why = errno;
    if (wrote >= 0) {
      backlog_.erase(0, static_cast<std::size_t>(wrote));
    } else if (try_later(why) && kind_ != Kind::File) {
      return;
    } else if (why != EINTR) {
      backlog_.clear();
      unreported_ = 0;
      gone_ = kind_ != Kind::File;
      if (!gone_)
        throw DeviceError(
            fmt::format("{} cannot be written: {}; send it elsewhere", name_, std::strerror(why)));
      return;
    }
  }
}

void LineOutput::report_dropped() {
  if (unreported_ > 0)
    backlog_ += fmt::format("lines dropped here because nobody read {}: {}\n", name_,
                            std::exchange(unreported_, 0));
}

std::int64_t LineOutput::write_some(std::string_view piece) const {
  if (kind_ == Kind::Socket)
    return ::send(descriptor_, piece.data(), piece.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
  if (kind_ == Kind::Reopened) return ::write(reopened_, piece.data(), piece.size());
  if (kind_ == Kind::Asked) {
    pollfd out{descriptor_, POLLOUT, 0};
    if (::poll(&out, 1, 0) != 1) {
      errno = EAGAIN;
      return -1;
    }
  }
  return ::write(descriptor_, piece.data(), piece.size());
}

void LineOutput::finish(std::chrono::milliseconds most) noexcept {
  const Clock::time_point end = Clock::now() + most;
  const auto wait = [&] { return most == without_end ? -1 : milliseconds_until(end); };
  try {
    while (!flush() && wait() != 0) {
      const std::size_t before = left();
      pollfd out{reopened_ >= 0 ? reopened_ : descriptor_, POLLOUT, 0};
      ::poll(&out, 1, wait());
      flush();
      // Some devices report that they are ready and then take nothing.
      if (left() == before) std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
  } catch (const std::exception&) {  // only a file throws, and it leaves no backlog
  }
}

std::size_t LineOutput::left() const {
  const std::lock_guard lock(mutex_);
  return backlog_.size();
}

std::int64_t LineOutput::dropped_lines() const {
  const std::lock_guard lock(mutex_);
  return dropped_;
}

bool LineOutput::same_reader(int descriptor) const {
  struct stat ours {
  }, other{};
  return kind_ != Kind::File && ::fstat(descriptor_, &ours) == 0 &&
         ::fstat(descriptor, &other) == 0 && ours.st_dev == other.st_dev &&
         ours.st_ino == other.st_ino;
}

LineOutput& standard_output() {
  static LineOutput output(STDOUT_FILENO, "standard output");
  return output;
}

LineOutput& standard_error() {
  if (standard_output().same_reader(STDERR_FILENO)) return standard_output();
  static LineOutput output(STDERR_FILENO, "standard error");
  return output;
}

}  // namespace pipetrain
