#include "base/open_regular.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace pipetrain {
namespace {

constexpr const char* kFolder = "it is a folder";
constexpr const char* kNoFile = "it is no regular file but a pipe, a socket or a device";

FileKind kind_of(const struct stat& status) {
  if (S_ISREG(status.st_mode)) return FileKind::Regular;
  return S_ISDIR(status.st_mode) ? FileKind::Folder : FileKind::Other;
}

const char* problem_with(FileKind kind) {
  if (kind == FileKind::Folder) return kFolder;
  return kind == FileKind::Other ? kNoFile : "";
}

}  // namespace

Found find_file(const std::filesystem::path& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) == 0) return {kind_of(status), "", 0};
  if (errno == ENOENT || errno == ENOTDIR) return {};
  return {FileKind::None, std::strerror(errno), errno};
}

Opened open_regular(const std::filesystem::path& file, int flags) {
  // Looked at before it is opened too: to open a device can do something.
  const Found found = find_file(file);
  if (found.kind == FileKind::Folder || found.kind == FileKind::Other)
    return {-1, problem_with(found.kind), 0};
  const int descriptor = ::open(file.c_str(), flags | O_NONBLOCK | O_NOCTTY | O_CLOEXEC, 0644);
  if (descriptor < 0) return {-1, std::strerror(errno), errno};
  struct stat status {};
  const int error = ::fstat(descriptor, &status) == 0 ? 0 : errno;
  const std::string problem = error ? std::strerror(error) : problem_with(kind_of(status));
  if (problem.empty()) return {descriptor, "", 0};
  ::close(descriptor);
  return {-1, problem, error};
}

}  // namespace pipetrain
