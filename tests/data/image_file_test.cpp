// JPEG and PNG of every kind, what they become, and each way in which a file can be wrong.
#include "data/image/image_file.hpp"

#include <cstdlib>

#include "catch.hpp"
#include "data_files.hpp"
#include "made_images.hpp"

using namespace pipetrain;
using namespace pipetrain::test;

namespace {

Image read(const std::string& bytes, int channels) {
  const Folder folder;
  return read_image(folder.write("image", bytes), channels);
}
std::string refused_image(const std::string& bytes) {
  return message_of<DataError>([&] { read(bytes, 3); });
}
std::string text_of(const Image& image) { return {image.bytes.begin(), image.bytes.end()}; }

// The largest difference between two bytes.
int distance(const Image& image, const Pixels& pixels) {
  REQUIRE(image.bytes.size() == pixels.bytes.size());
  int most = 0;
  for (std::size_t i = 0; i < image.bytes.size(); ++i)
    most = std::max(most, std::abs(image.bytes[i] - static_cast<std::uint8_t>(pixels.bytes[i])));
  return most;
}

std::string with_size(std::string png, std::uint32_t width, std::uint32_t height) {
  const std::string ihdr = "IHDR" + big_endian(width) + big_endian(height) + png.substr(24, 5);
  const auto sum = crc32(0, reinterpret_cast<const Bytef*>(ihdr.data()), 17);
  return png.replace(12, 17, ihdr).replace(29, 4, big_endian(static_cast<std::uint32_t>(sum)));
}

}  // namespace

TEST_CASE("image: PNG gives the same bytes, interlaced or not", "[image]") {
  const Pixels pixels = counted(7, 5, 3);
  for (const bool interlaced : {false, true}) {
    const Image image = read(png_file(pixels, {.interlaced = interlaced}), 3);
    CHECK(image.height == 7);
    CHECK(image.width == 5);
    CHECK(image.channels == 3);
    CHECK(text_of(image) == pixels.bytes);
  }
}

TEST_CASE("image: PNG of 16, 4 and 1 bits and of a palette becomes bytes", "[image]") {
  const std::string deep{'\x12', '\x34', '\xff', '\xff', '\x80', '\x7f'};
  CHECK(text_of(read(png_file({1, 3, 1, deep}, {.bits = 16}), 1)) == "\x12\xff\x80");
  CHECK(text_of(read(png_file({1, 3, 1, std::string("\0\5\17", 3)}, {.bits = 4}), 1)) ==
        std::string("\0\x55\xff", 3));
  CHECK(text_of(read(png_file({1, 3, 1, std::string("\0\1\1", 3)}, {.bits = 1}), 1)) ==
        std::string("\0\xff\xff", 3));
  const PngKind palette{.bits = 2, .palette = "abcdefghi"};
  CHECK(text_of(read(png_file({1, 3, 1, std::string("\2\0\1", 3)}, palette), 3)) == "ghiabcdef");
}

TEST_CASE("image: alpha is dropped, whatever it says", "[image]") {
  CHECK(text_of(read(png_file({1, 2, 4, std::string("abc\0def\xff", 8)}), 3)) == "abcdef");
  CHECK(text_of(read(png_file({1, 2, 2, std::string("a\0b\xff", 4)}), 1)) == "ab");
}

TEST_CASE("image: grey for a colour model, and colours for a grey one", "[image]") {
  CHECK(text_of(read(png_file({1, 2, 1, "ab"}), 3)) == "aaabbb");
  // 0.299, 0.587 and 0.114 of 255 are 76.245, 149.685 and 29.07.
  const std::string primary{'\xff', 0, 0, 0, '\xff', 0, 0, 0, '\xff', '\xff', '\xff', '\xff'};
  CHECK(text_of(read(png_file({1, 4, 3, primary}), 1)) == "\x4c\x96\x1d\xff");
}

TEST_CASE("image: JPEG, baseline and progressive, colour and grey", "[image]") {
  const Pixels colour = plain(17, 9, "\xc8\x64\x32"), grey = counted(9, 17, 1);
  for (const bool progressive : {false, true}) {
    const JpegKind kind{.quality = 98, .progressive = progressive};
    const Image image = read(jpeg_file(colour, kind), 3);
    CHECK(image.height == 17);
    CHECK(image.width == 9);
    CHECK(distance(image, colour) <= 3);
    CHECK(distance(read(jpeg_file(grey, kind), 1), grey) <= 6);
  }
}

TEST_CASE("image: a JPEG in CMYK", "[image]") {
  // No cyan, half of magenta, all yellow, and a fifth of black, as 255 - ink.
  const std::string inks{'\xff', '\x80', '\0', '\xcc'};
  const Image image = read(jpeg_file(plain(8, 8, inks), {.quality = 100}), 3);
  CHECK(distance(image, plain(8, 8, std::string{'\xcc', '\x66', '\0'})) <= 2);
}

TEST_CASE("image: bytes that are not an image, or only the start of one", "[image]") {
  const std::string png = png_file(counted(40, 40, 3)), jpeg = jpeg_file(counted(40, 40, 3));
  CHECK(contains(refused_image(""), "the file is empty"));
  CHECK(contains(refused_image("GIF89a.."), "neither JPEG nor PNG"));
  for (const std::size_t part : {std::size_t{5}, png.size() / 2, png.size() - 5})
    CHECK(contains(refused_image(png.substr(0, part)), "damaged PNG: "));
  for (const std::size_t part : {std::size_t{5}, jpeg.size() / 2, jpeg.size() - 40})
    CHECK(contains(refused_image(jpeg.substr(0, part)), "damaged JPEG: "));
  CHECK(contains(message_of<DataError>([] { read_image("/no/such.png", 3); }), "no such file"));
  const Folder folder;
  CHECK(contains(message_of<DataError>([&] { read_image(folder / "", 3); }), "not a file"));
}

TEST_CASE("image: bytes that were changed on the way", "[image]") {
  std::string png = png_file(counted(40, 40, 3));
  png[png.size() - 20] = static_cast<char>(png[png.size() - 20] ^ 1);
  CHECK(contains(refused_image(png), "damaged PNG: "));
  std::string jpeg = jpeg_file(counted(64, 64, 3), {.quality = 100});
  jpeg.replace(jpeg.size() / 2, 2, "\xff\xd9");  // an end marker where none should be
  CHECK(contains(refused_image(jpeg), "damaged JPEG: "));
}

TEST_CASE("image: bytes after the end of a JPEG do no harm", "[image]") {
  const Pixels pixels = plain(8, 8, "\x40\x50\x60");
  CHECK(distance(read(jpeg_file(pixels) + "more", 3), pixels) <= 3);
}

TEST_CASE("image: a header that claims more than the file can hold", "[image]") {
  const std::string png = png_file(plain(4, 4, "abc"));
  CHECK(
      contains(refused_image(with_size(png, 1000000, 1000000)), "claims 1000000 x 1000000 pixels"));
  CHECK(contains(refused_image(with_size(png, 60000, 30000)), "claims 30000 x 60000 pixels"));
  CHECK(contains(refused_image(with_size(png, 0xffffffff, 1)), "damaged PNG"));
  CHECK(contains(refused_image(with_size(png, 0, 1)), "damaged PNG"));
  std::string jpeg = jpeg_file(plain(8, 8, "abc"));
  const std::size_t frame = jpeg.find("\xff\xc0");
  jpeg.replace(frame + 5, 4, "\xff\x00\xff\x00", 4);
  CHECK(contains(refused_image(jpeg), "claims 65280 x 65280 pixels"));
  jpeg.replace(frame + 5, 4, std::string(4, '\0'));
  CHECK(contains(refused_image(jpeg), "damaged JPEG"));
}
