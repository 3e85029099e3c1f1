#include "run/run_lock.hpp"

#include <fcntl.h>
#include <spdlog/fmt/fmt.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>

#include "base/error.hpp"

namespace pipetrain {

RunLock::~RunLock() {
  if (file_ >= 0) ::close(file_);
}

void RunLock::take() {
  if (file_ < 0) file_ = ::open(folder_.c_str(), O_RDONLY | O_CLOEXEC);
  if (file_ < 0) return;  // does not exist yet, or the code that writes to it reports what is wrong
  if (::flock(file_, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK)
    throw UsageError(
        fmt::format("{}: another process is training in this folder; wait until it ends, or write "
                    "elsewhere with --output DIR",
                    folder_.string()));
}

}  // namespace pipetrain
