// Makes the n-th operation of a program fail, for LD_PRELOAD: the test's disk and device.
//
//   FAIL_KIND    write: whatever changes or lists something under FAIL_UNDER: open for writing,
//                       write, fsync, ftruncate, rename, close, mkdir, remove, opendir
//                read: open for reading and read under FAIL_UNDER
//                kernel: a call of the kernel library, wherever it comes from
//   FAIL_AT      which one, from 1
//   FAIL_ERRNO   the reason given
//   FAIL_MARK    a file that is made when it fires: if it is missing, the program did fewer
#undef _FILE_OFFSET_BITS  // it would make `open` another name of `open64`
#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstdarg>
#include <cstdlib>
#include <cstring>
#include <string_view>

namespace {

enum class Kind : char { None, Write, Read };

constexpr int most_files = 1024;
std::array<std::atomic<Kind>, most_files> open_files;
std::atomic<int> operations = 0;

std::string_view setting(const char* name) {
  const char* const value = std::getenv(name);
  return value ? value : "";
}

template <class Function>
Function* real(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

bool fires(std::string_view kind) {
  if (setting("FAIL_KIND") != kind) return false;
  if (++operations != std::atoi(setting("FAIL_AT").data())) return false;
  const int mark = real<int(const char*, int, ...)>("open")(setting("FAIL_MARK").data(),
                                                            O_WRONLY | O_CREAT, 0644);
  if (mark >= 0) real<int(int)>("close")(mark);
  errno = std::atoi(setting("FAIL_ERRNO").data());
  return true;
}

bool under(const char* path) {
  const std::string_view folder = setting("FAIL_UNDER");
  return path && !folder.empty() && std::string_view(path).starts_with(folder);
}

// Folders are opened to be flushed: that is a part of writing.
Kind kind_of(const char* path, int flags) {
  if (!under(path)) return Kind::None;
  return (flags & (O_WRONLY | O_RDWR | O_DIRECTORY)) != 0 ? Kind::Write : Kind::Read;
}

std::string_view name_of(Kind kind) { return kind == Kind::Write ? "write" : "read"; }

Kind kind_of(int file) {
  return file >= 0 && file < most_files ? open_files[static_cast<std::size_t>(file)].load()
                                        : Kind::None;
}

int open_file(const char* name, const char* path, int flags, mode_t mode) {
  const Kind kind = kind_of(path, flags);
  if (kind != Kind::None && fires(name_of(kind))) return -1;
  const int file = real<int(const char*, int, ...)>(name)(path, flags, mode);
  if (file >= 0 && file < most_files) open_files[static_cast<std::size_t>(file)] = kind;
  return file;
}

mode_t mode_of(int flags, std::va_list arguments) {
  return (flags & O_CREAT) != 0 ? va_arg(arguments, mode_t) : 0;
}

}  // namespace

extern "C" {

int open(const char* path, int flags, ...) {
  std::va_list arguments;
  va_start(arguments, flags);
  const mode_t mode = mode_of(flags, arguments);
  va_end(arguments);
  return open_file("open", path, flags, mode);
}

int open64(const char* path, int flags, ...) {
  std::va_list arguments;
  va_start(arguments, flags);
  const mode_t mode = mode_of(flags, arguments);
  va_end(arguments);
  return open_file("open64", path, flags, mode);
}

ssize_t write(int file, const void* bytes, size_t count) {
  if (kind_of(file) == Kind::Write && fires("write")) return -1;
  return real<ssize_t(int, const void*, size_t)>("write")(file, bytes, count);
}

ssize_t read(int file, void* bytes, size_t count) {
  if (kind_of(file) == Kind::Read && fires("read")) return -1;
  return real<ssize_t(int, void*, size_t)>("read")(file, bytes, count);
}

int fsync(int file) {
  if (kind_of(file) == Kind::Write && fires("write")) return -1;
  return real<int(int)>("fsync")(file);
}

// The file is closed even if closing it fails, as on Linux.
int close(int file) {
  const bool failed = kind_of(file) == Kind::Write && fires("write");
  const int why = errno;
  if (file >= 0 && file < most_files) open_files[static_cast<std::size_t>(file)] = Kind::None;
  const int done = real<int(int)>("close")(file);
  if (failed) errno = why;
  return failed ? -1 : done;
}

int rename(const char* from, const char* to) {
  if (under(to) && fires("write")) return -1;
  return real<int(const char*, const char*)>("rename")(from, to);
}

int ftruncate(int file, off_t size) {
  if (kind_of(file) == Kind::Write && fires("write")) return -1;
  return real<int(int, off_t)>("ftruncate")(file, size);
}

int remove(const char* path) {
  if (under(path) && fires("write")) return -1;
  return real<int(const char*)>("remove")(path);
}

// Within a folder that is being removed, by the folder's descriptor: `path` has no folder.
int unlinkat(int folder, const char* path, int flags) {
  if (fires("write")) return -1;
  return real<int(int, const char*, int)>("unlinkat")(folder, path, flags);
}

DIR* opendir(const char* path) {
  if (under(path) && fires("write")) return nullptr;
  return real<DIR*(const char*)>("opendir")(path);
}

int mkdir(const char* path, mode_t mode) {
  if (under(path) && fires("write")) return -1;
  return real<int(const char*, mode_t)>("mkdir")(path, mode);
}

// oneDNN's entry point for every primitive; 1 is its "out of memory".
int dnnl_primitive_execute(const void* primitive, void* stream, int count, const void* arguments) {
  if (fires("kernel")) return 1;
  return real<int(const void*, void*, int, const void*)>("dnnl_primitive_execute")(
      primitive, stream, count, arguments);
}
}
