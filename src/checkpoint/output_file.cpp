#include "checkpoint/output_file.hpp"

#include <fcntl.h>
#include <spdlog/fmt/fmt.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/error.hpp"
#include "base/open_regular.hpp"

namespace pipetrain {

void add_bytes(FileSum& sum, const void* bytes, std::size_t count) {
  sum.crc32 = static_cast<std::uint32_t>(
      ::crc32_z(sum.crc32, static_cast<const unsigned char*>(bytes), count));
  sum.bytes += count;
}

OutputFile::OutputFile(const std::filesystem::path& path, const std::filesystem::path& shown)
    : shown_(shown) {
  const Opened opened = open_regular(path, O_WRONLY | O_CREAT | O_TRUNC);
  if (opened.descriptor < 0) {
    const Found folder = find_file(path.has_parent_path() ? path.parent_path() : ".");
    if (folder.kind == FileKind::None && folder.problem.empty())
      throw DeviceError(
          fmt::format("{}: cannot be created: there is no folder {}; create it, or name a file in "
                      "another one",
                      shown_.string(), shown_.parent_path().string()));
    fail_file(shown_, "created", opened.problem);
  }
  out_ = opened.descriptor;
}

OutputFile::~OutputFile() {
  if (out_ >= 0) ::close(out_);
}

void OutputFile::write(const void* bytes, std::size_t count) {
  constexpr std::size_t piece = std::size_t{1} << 26;  // summed while it is still in the cache
  const auto* at = static_cast<const std::byte*>(bytes);
  while (count > 0) {
    const ssize_t done = ::write(out_, at, std::min(count, piece));
    if (done < 0 && errno == EINTR) continue;
    if (done < 0) fail_file(shown_, "written");
    add_bytes(sum_, at, static_cast<std::size_t>(done));
    at += done;
    count -= static_cast<std::size_t>(done);
  }
}

FileSum OutputFile::finish() {
  if (::fsync(out_) != 0) fail_file(shown_, "flushed to the disk");
  if (::close(std::exchange(out_, -1)) != 0) fail_file(shown_, "closed");
  return sum_;
}

void flush_folder(const std::filesystem::path& folder, const std::filesystem::path& shown) {
  const auto path = folder.empty() ? std::filesystem::path(".") : folder;
  const int entry = ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (entry < 0) fail_file(shown, "flushed to the disk with its folder");
  const bool flushed = ::fsync(entry) == 0;
  const int why = errno;
  const bool closed = ::close(entry) == 0;
  if (!flushed) errno = why;
  if (!flushed || !closed) fail_file(shown, "flushed to the disk with its folder");
}

void fail_file(const std::filesystem::path& file, std::string_view what) {
  fail_file(file, what, std::strerror(errno));
}

void fail_file(const std::filesystem::path& file, std::string_view what, std::string_view why) {
  throw DeviceError(fmt::format(
      "{}: cannot be {}: {}; check the disk and its permissions, then run the same command again",
      file.string(), what, why));
}

}  // namespace pipetrain
