#include "base/input_file.hpp"

#include <fcntl.h>
#include <spdlog/fmt/fmt.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "base/open_regular.hpp"
#include "base/printable.hpp"

namespace pipetrain {
namespace {

constexpr std::size_t kPiece = std::size_t{1} << 16;

FileKind kind_at(const std::filesystem::path& path) {
  const Found found = find_file(path);
  if (!found.problem.empty()) throw CannotRead(path, found.problem, found.error);
  return found.kind;
}

std::size_t read_piece(int descriptor, void* to, std::size_t count,
                       const std::filesystem::path& path) {
  while (true) {
    const ssize_t got = ::read(descriptor, to, count);
    if (got >= 0) return static_cast<std::size_t>(got);
    if (errno != EINTR) throw CannotRead(path, std::strerror(errno), errno);
  }
}

[[noreturn]] void refuse_size(const std::filesystem::path& file, std::uint64_t most) {
  throw CannotRead(file, fmt::format("it has more than {} bytes", most));
}

}  // namespace

CannotRead::CannotRead(const std::filesystem::path& file, std::string why, int error)
    : DataError(fmt::format("{}: cannot be read: {}; check the path and its permissions",
                            printable(file.string()), why)),
      why_(std::move(why)),
      error_(error) {}

bool CannotRead::is_of_the_file() const {
  constexpr std::array own = {0, ENOENT, ENOTDIR, EACCES, EPERM, ELOOP, ENAMETOOLONG, EISDIR};
  return std::ranges::find(own, error_) != own.end();
}

bool is_there(const std::filesystem::path& path) { return kind_at(path) != FileKind::None; }
bool is_folder(const std::filesystem::path& path) { return kind_at(path) == FileKind::Folder; }
bool is_file(const std::filesystem::path& path) { return kind_at(path) == FileKind::Regular; }

InputFile::InputFile(const std::filesystem::path& path) : path_(path) {
  const Opened opened = open_regular(path, O_RDONLY);
  if (opened.descriptor < 0) throw CannotRead(path, opened.problem, opened.error);
  descriptor_ = opened.descriptor;
  struct stat status {};
  if (::fstat(descriptor_, &status) == 0) size_ = static_cast<std::uint64_t>(status.st_size);
}

InputFile::~InputFile() { ::close(descriptor_); }

std::size_t InputFile::read_some(void* to, std::size_t count) {
  return read_piece(descriptor_, to, count, path_);
}

void InputFile::read(void* to, std::size_t count) {
  auto* at = static_cast<std::byte*>(to);
  while (count > 0) {
    const std::size_t got = read_some(at, count);
    if (got == 0) throw CannotRead(path_, "it became shorter while it was read");
    at += got;
    count -= got;
  }
}

void InputFile::skip_to(std::uint64_t offset) {
  if (::lseek(descriptor_, static_cast<off_t>(offset), SEEK_SET) < 0)
    throw CannotRead(path_, std::strerror(errno), errno);
}

std::string read_whole_file(const std::filesystem::path& file, std::uint64_t most) {
  InputFile in(file);
  if (in.size() > most) refuse_size(file, most);
  std::string text(in.size(), '\0');
  in.read(text.data(), text.size());
  return text;
}

std::string read_whole_stream(const std::filesystem::path& file, std::uint64_t most) {
  if (kind_at(file) != FileKind::Other) return read_whole_file(file, most);
  const int descriptor = ::open(file.c_str(), O_RDONLY | O_NOCTTY | O_CLOEXEC);
  if (descriptor < 0) throw CannotRead(file, std::strerror(errno), errno);
  const struct Closed {
    int descriptor;
    ~Closed() { ::close(descriptor); }
  } closed{descriptor};
  std::string text;
  while (text.size() <= most) {
    const std::size_t before = text.size();
    text.resize(before + kPiece);
    const std::size_t got = read_piece(descriptor, text.data() + before, kPiece, file);
    text.resize(before + got);
    if (got == 0) return text;
  }
  refuse_size(file, most);
}

TextLines::TextLines(const std::filesystem::path& path, std::size_t most)
    : file_(path), most_(most) {}

bool TextLines::next(std::string& line) {
  std::size_t seen = begin_;
  while (true) {
    const std::size_t end = buffer_.find('\n', seen);
    if (end != buffer_.npos) {
      line.assign(buffer_, begin_, end - begin_);
      begin_ = end + 1;
      return true;
    }
    if (buffer_.size() - begin_ > most_) return false;
    buffer_.erase(0, begin_);
    begin_ = 0;
    seen = buffer_.size();
    buffer_.resize(seen + kPiece);
    const std::size_t got = file_.read_some(buffer_.data() + seen, kPiece);
    buffer_.resize(seen + got);
    if (got == 0) return false;
  }
}

}  // namespace pipetrain
