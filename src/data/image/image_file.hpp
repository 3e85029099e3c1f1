// The pixels of a JPEG or PNG file, recognised by its first bytes. Only jpeg.cpp and png.cpp
// include libjpeg and libpng.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace pipetrain {

struct Image {
  int height = 0, width = 0;
  int channels = 0;                 // 1: grey; 3: red, green, blue
  std::vector<std::uint8_t> bytes;  // [height, width, channels]
};

// The whole file as an image with `channels` (1 or 3): grey is repeated, colour becomes grey by
// with_channels(). Palettes are looked up, 16 bits become 8, CMYK becomes RGB; alpha, colour
// profiles and EXIF orientation are ignored. DataError "FILE: why" if the file cannot be read, is
// of neither format, is damaged or ends early, or claims more pixels than its size can hold.
Image read_image(const std::filesystem::path& file, int channels);

// Grey is ITU-R 601-2's (299 R + 587 G + 114 B) / 1000, in 16-bit fixed point, rounded.
Image with_channels(Image image, int channels);

// The libraries' versions, for --build-info.
std::string version_of_libjpeg();
std::string_view version_of_libpng();

// ---- what the two decoders share

constexpr std::int64_t pixels_max = std::int64_t{1} << 27;  // per image: 402 MB as RGB

struct BadImage : std::runtime_error {  // says why; read_image() adds the file's name
  using std::runtime_error::runtime_error;
};
Image decode_jpeg(std::span<const std::uint8_t> file);
Image decode_png(std::span<const std::uint8_t> file);
// An image of the size that a header claims, without its pixels yet; BadImage if that is too much.
Image image_of_size(std::uint64_t height, std::uint64_t width, int channels,
                    std::size_t file_bytes);

}  // namespace pipetrain
