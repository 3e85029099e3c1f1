#include "data/image/image_file.hpp"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <utility>

#include "base/check.hpp"
#include "data/byte_file.hpp"

namespace pipetrain {

namespace {

// Deflate reaches 1032 to 1 at best, and a byte of PNG holds at most 8 pixels; JPEG compresses
// less.
constexpr std::uint64_t pixels_per_byte_max = 1032 * 8;

bool begins_with(std::span<const std::uint8_t> file, std::span<const std::uint8_t> magic) {
  return file.size() >= magic.size() && std::equal(magic.begin(), magic.end(), file.begin());
}

Image decode(std::span<const std::uint8_t> file) {
  constexpr std::array<std::uint8_t, 3> jpeg = {0xff, 0xd8, 0xff};
  constexpr std::array<std::uint8_t, 4> png = {0x89, 'P', 'N', 'G'};
  if (file.empty()) throw BadImage("the file is empty");
  if (begins_with(file, jpeg)) return decode_jpeg(file);
  if (begins_with(file, png)) return decode_png(file);
  throw BadImage("this is neither JPEG nor PNG, by its first bytes");
}

std::uint8_t grey_of(const std::uint8_t* rgb) {
  return static_cast<std::uint8_t>((19595u * rgb[0] + 38470u * rgb[1] + 7471u * rgb[2] + 0x8000u) >>
                                   16);
}

}  // namespace

Image image_of_size(std::uint64_t height, std::uint64_t width, int channels,
                    std::size_t file_bytes) {
  const std::uint64_t pixels = product_or_max(std::array{height, width});
  const std::uint64_t most = std::min<std::uint64_t>(pixels_max, file_bytes * pixels_per_byte_max);
  if (pixels > most)
    throw BadImage(fmt::format(
        "its header claims {} x {} pixels, but from a file of {} bytes at most {} are read", height,
        width, file_bytes, most));
  Image image{static_cast<int>(height), static_cast<int>(width), channels, {}};
  image.bytes.resize(pixels * static_cast<std::uint64_t>(channels));
  return image;
}

Image with_channels(Image image, int channels) {
  PIPETRAIN_CHECK(channels == 1 || channels == 3, "{} channels", channels);
  if (image.channels == channels) return image;
  Image converted{image.height, image.width, channels, {}};
  const std::size_t pixels = image.bytes.size() / static_cast<std::size_t>(image.channels);
  converted.bytes.resize(pixels * static_cast<std::size_t>(channels));
  for (std::size_t i = 0; i < pixels; ++i) {
    if (channels == 1)
      converted.bytes[i] = grey_of(image.bytes.data() + 3 * i);
    else
      std::fill_n(converted.bytes.begin() + static_cast<std::ptrdiff_t>(3 * i), 3, image.bytes[i]);
  }
  return converted;
}

Image read_image(const std::filesystem::path& path, int channels) {
  ByteFile file(path);
  const std::vector<std::uint8_t> bytes = file.read_all();
  try {
    return with_channels(decode(bytes), channels);
  } catch (const BadImage& bad) {
    file.fail(bad.what());
  }
}

}  // namespace pipetrain
