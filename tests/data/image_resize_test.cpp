// Resizing against values worked out by hand, and against those of PIL 13 on a made-up image.
#include "data/image/image_resize.hpp"

#include "catch.hpp"
#include "data_files.hpp"
#include "made_images.hpp"

using namespace pipetrain;
using namespace pipetrain::test;

namespace {

Image image_of(const Pixels& pixels) {
  return {pixels.height, pixels.width, pixels.channels, {pixels.bytes.begin(), pixels.bytes.end()}};
}
Image grey(int height, int width, std::vector<std::uint8_t> bytes) {
  return {height, width, 1, std::move(bytes)};
}
using Bytes = std::vector<std::uint8_t>;

}  // namespace

TEST_CASE("resize: enlarging interpolates between the centres of pixels", "[image]") {
  // Centres of the four are at 0.25, 0.75, 1.25, 1.75 of two pixels with centres 0.5 and 1.5.
  CHECK(resized(grey(1, 2, {0, 100}), 1, 4).bytes == Bytes{0, 25, 75, 100});
  CHECK(resized(grey(2, 1, {0, 100}), 4, 1).bytes == Bytes{0, 25, 75, 100});
}

TEST_CASE("resize: shrinking weighs every pixel under a triangle", "[image]") {
  // To a half, a triangle of half-width 2 around 1.0 and 3.0: weights 3, 3, 1 of 7 at the border.
  CHECK(resized(grey(1, 4, {70, 0, 7, 140}), 1, 2).bytes == Bytes{31, 63});
  CHECK(resized(grey(1, 5, {9, 9, 9, 9, 9}), 1, 1).bytes == Bytes{9});
}

TEST_CASE("resize: channels do not mix, and the same size changes nothing", "[image]") {
  const Image image = image_of(counted(6, 9, 3));
  CHECK(resized(image, 6, 9).bytes == image.bytes);
  const Image three = resized(image, 4, 5);
  for (std::size_t c = 0; c < 3; ++c) {
    Image one{6, 9, 1, {}};
    for (std::size_t i = 0; i < 54; ++i) one.bytes.push_back(image.bytes[3 * i + c]);
    const Image small = resized(one, 4, 5);
    for (std::size_t i = 0; i < 20; ++i) CHECK(three.bytes[3 * i + c] == small.bytes[i]);
  }
}

TEST_CASE("resize: by the shorter side", "[image]") {
  const auto sides = [](const Image& image) { return std::pair(image.height, image.width); };
  CHECK(sides(resized_shorter_side(grey(3, 7, Bytes(21)), 5)) == std::pair(5, 11));
  CHECK(sides(resized_shorter_side(grey(7, 3, Bytes(21)), 2)) == std::pair(4, 2));
  CHECK(sides(resized_shorter_side(grey(4, 4, Bytes(16)), 9)) == std::pair(9, 9));
  CHECK(
      contains(message_of<BadImage>([] { resized_shorter_side(grey(1, 9000, Bytes(9000)), 500); }),
               "1 x 9000 pixels would become 500 x 4500000"));
}

TEST_CASE("resize: a part is cut out", "[image]") {
  const Image part = cut_out(image_of(counted(5, 6, 1)), {1, 2, 2, 3});
  CHECK(part.height == 2);
  CHECK(part.width == 3);
  CHECK(part.bytes == Bytes{16, 19, 22, 26, 29, 32});
}

TEST_CASE("resize: the bytes are those of PIL", "[image]") {
  Image image{17, 23, 1, {}};
  for (int y = 0; y < 17; ++y)
    for (int x = 0; x < 23; ++x)
      image.bytes.push_back(static_cast<std::uint8_t>((10 * y + 3 * x) * 37));
  struct Case {
    int height, width;
    Bytes first, last;
    std::int64_t sum;  // of every byte times its place from 1
  };
  const std::vector<Case> cases = {
      {5, 7, {133, 111, 136, 122}, {119, 130, 113, 139}, 80575},
      {17, 9, {100, 134, 96, 131}, {120, 100, 160, 129}, 1508259},
      {29, 4, {116, 121, 124, 126}, {148, 115, 121, 139}, 869313},
      {20, 31, {0, 68, 150, 208}, {193, 110, 102, 170}, 24654839},
  };
  for (const Case& expected : cases) {
    const Bytes bytes = resized(image, expected.height, expected.width).bytes;
    CHECK(Bytes(bytes.begin(), bytes.begin() + 4) == expected.first);
    CHECK(Bytes(bytes.end() - 4, bytes.end()) == expected.last);
    std::int64_t sum = 0;
    for (std::size_t i = 0; i < bytes.size(); ++i)
      sum += bytes[i] * static_cast<std::int64_t>(i + 1);
    CHECK(sum == expected.sum);
  }
}
