#include "base/open_regular.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace pipetrain {
namespace {

FileKind kind_of(const struct stat& status) {
  if (S_ISREG(status.st_mode)) return FileKind::Regular;
  return S_ISDIR(status.st_mode) ? FileKind::Folder : FileKind::Other;
}

}  // namespace

Found find_file(const std::filesystem::path& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) == 0) return {kind_of(status), "", 0};
  if (errno == ENOENT || errno == ENOTDIR) return {};
  return {FileKind::None, std::strerror(errno), errno};
}

std::string why_not_regular(FileKind kind) {
  if (kind == FileKind::Folder) return "it is a folder";
  return kind == FileKind::Other ? "it is not a regular file but a pipe, a socket or a device" : "";
}

Opened open_regular(const std::filesystem::path& file, int flags) {
  // Checked before opening too: to open a device can have effects.
  const std::string other = why_not_regular(find_file(file).kind);
  if (!other.empty()) return {-1, other, 0};
  const int descriptor = ::open(file.c_str(), flags | O_NONBLOCK | O_NOCTTY | O_CLOEXEC, 0644);
  if (descriptor < 0) return {-1, std::strerror(errno), errno};
  struct stat status {};
  const int error = ::fstat(descriptor, &status) == 0 ? 0 : errno;
  const std::string problem = error ? std::strerror(error) : why_not_regular(kind_of(status));
  if (problem.empty()) return {descriptor, "", 0};
  ::close(descriptor);
  return {-1, problem, error};
}

}  // namespace pipetrain
