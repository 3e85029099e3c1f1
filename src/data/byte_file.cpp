#include "data/byte_file.hpp"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <string>

#include "base/error.hpp"
#include "base/input_file.hpp"
#include "base/printable.hpp"

namespace pipetrain {

namespace {

// Deflate cannot compress better than 1032 to 1 (zlib's technical details: "maximum compression
// factor").
constexpr std::uint64_t deflate_ratio_max = 1032;
constexpr std::size_t chunk_bytes = std::size_t{1} << 20;

}  // namespace

std::uint64_t product_or_max(std::span<const std::uint64_t> factors) {
  std::uint64_t product = 1;
  for (const std::uint64_t factor : factors)
    if (__builtin_mul_overflow(product, factor, &product)) return ~std::uint64_t{0};
  return product;
}

ByteFile::ByteFile(const std::filesystem::path& path) : path_(path) {
  if (!is_there(path)) fail("no such file; check the path in [data]");
  if (!is_file(path)) fail("this is not a file; name the data file itself");
  bytes_.emplace(path);
  most_ = bytes_->packed() ? bytes_->size() * deflate_ratio_max : bytes_->size();
}

void ByteFile::fail(std::string_view why) const {
  throw DataError(fmt::format("{}: {}", printable(path_.string()), why));
}

std::size_t ByteFile::read_some(std::uint8_t* to, std::size_t count) {
  const std::size_t got = bytes_->read(to, count);
  position_ += got;
  return got;
}

std::vector<std::uint8_t> ByteFile::read(std::uint64_t count, std::string_view what) {
  const auto refuse = [&](std::string_view have) {
    fail(fmt::format(
        "reading {} takes {} byte{}, but {}: the file is truncated or its header is damaged", what,
        count, count == 1 ? "" : "s", have));
  };
  if (count > most_ - std::min(most_, position_))
    refuse(fmt::format("the file can hold at most {} after the first {}",
                       most_ - std::min(most_, position_), position_));
  // Grows as bytes arrive: a damaged header of a small packed file must not allocate memory first.
  std::vector<std::uint8_t> bytes;
  std::size_t have = 0;
  while (have < count) {
    if (have == bytes.size())
      bytes.resize(std::min<std::uint64_t>(count, std::max(chunk_bytes, 2 * have)));
    const std::size_t got = read_some(bytes.data() + have, bytes.size() - have);
    if (got == 0) refuse(fmt::format("only {} {} left", have, have == 1 ? "is" : "are"));
    have += got;
  }
  return bytes;
}

std::vector<std::uint8_t> ByteFile::read_rest(std::uint64_t count, std::string_view what) {
  std::vector<std::uint8_t> bytes = read(count, what);
  std::uint8_t extra;
  if (read_some(&extra, 1) != 0)
    fail(fmt::format(
        "bytes are left over after the {} byte{} of {}: the header does not match the file", count,
        count == 1 ? "" : "s", what));
  return bytes;
}

std::vector<std::uint8_t> ByteFile::read_all() {
  // The length of a plain file is known; memory for a packed one grows as it arrives.
  std::vector<std::uint8_t> bytes(bytes_->packed() ? 0 : most_ - std::min(most_, position_));
  std::size_t have = 0;
  while (true) {
    if (have == bytes.size()) bytes.resize(have + std::max(chunk_bytes, have / 2));
    const std::size_t got = read_some(bytes.data() + have, bytes.size() - have);
    if (got == 0) break;
    have += got;
  }
  bytes.resize(have);
  bytes.shrink_to_fit();
  return bytes;
}

}  // namespace pipetrain
