#include "data/unpack.hpp"

#include <spdlog/fmt/fmt.h>
#include <zlib.h>

#include <algorithm>
#include <cstring>
#include <new>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "base/input_file.hpp"

namespace pipetrain {

std::string_view version_of_zlib() { return zlibVersion(); }

struct Unpacker::Impl {
  explicit Impl(const std::filesystem::path& p)
      : path(p.string()), file(p), buffer(std::size_t{1} << 17) {}
  ~Impl() {
    if (packed) inflateEnd(&stream);
  }
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  [[noreturn]] void fail(std::string_view why) const {
    throw DataError(fmt::format("{}: {}", path, why));
  }

  // Is there something to read in the buffer? False at the end of the file.
  bool fill() {
    if (stream.avail_in > 0) return true;
    const std::size_t got = file.read_some(buffer.data(), buffer.size());
    stream.next_in = buffer.data();
    stream.avail_in = static_cast<uInt>(got);
    return got > 0;
  }

  std::size_t copy(std::uint8_t* to, std::size_t count) {
    if (!fill()) return 0;
    const std::size_t taken = std::min<std::size_t>(count, stream.avail_in);
    std::memcpy(to, stream.next_in, taken);
    stream.next_in += taken;
    stream.avail_in -= static_cast<uInt>(taken);
    return taken;
  }

  // After a member: another one, or zeros up to the end, as archives pad.
  void end_member() {
    while (fill() && *stream.next_in == 0) {
      ++stream.next_in;
      --stream.avail_in;
      padded = true;
    }
    ended = stream.avail_in == 0;
    if (ended) return;
    if (padded || *stream.next_in != 0x1f)
      fail("bytes are left over after the gzip data; copy it again");
    inflateReset(&stream);
  }

  std::size_t unpack(std::uint8_t* to, std::size_t count) {
    stream.next_out = to;
    stream.avail_out = static_cast<uInt>(count);
    while (!ended && stream.avail_out == count) {
      if (!fill()) fail("the gzip data ends early: the file is truncated; copy it again");
      const int code = inflate(&stream, Z_NO_FLUSH);
      if (code == Z_MEM_ERROR) throw std::bad_alloc();
      if (code == Z_STREAM_END)
        end_member();
      else if (code != Z_OK && code != Z_BUF_ERROR)
        fail(fmt::format("the gzip data is damaged ({}); copy it again",
                         stream.msg ? stream.msg : "a dictionary is missing"));
    }
    return count - stream.avail_out;
  }

  std::string path;
  InputFile file;
  std::vector<std::uint8_t> buffer;
  z_stream stream{};  // its next_in marks what is read of the buffer, even if nothing is packed
  bool packed = false, ended = false, padded = false;
};

Unpacker::Unpacker(const std::filesystem::path& path) : impl_(std::make_unique<Impl>(path)) {
  Impl& i = *impl_;
  if (!i.fill() || i.stream.avail_in < 2 || i.buffer[0] != 0x1f || i.buffer[1] != 0x8b) return;
  constexpr int gzip_window = 15 + 16;
  if (inflateInit2(&i.stream, gzip_window) != Z_OK) throw std::bad_alloc();
  i.packed = true;
}

Unpacker::~Unpacker() = default;

bool Unpacker::packed() const { return impl_->packed; }
std::uint64_t Unpacker::size() const { return impl_->file.size(); }

std::size_t Unpacker::read(std::uint8_t* to, std::size_t count) {
  constexpr std::size_t chunk = std::size_t{1} << 20;  // fits zlib's 32-bit counts
  const std::size_t wanted = std::min(count, chunk);
  return impl_->packed ? impl_->unpack(to, wanted) : impl_->copy(to, wanted);
}

}  // namespace pipetrain
