// A pixel of the result is a weighted mean of the pixels under a triangle around its centre: two
// pixels wide if the image grows, and wider in proportion if it shrinks, so that no pixel is left
// out. Columns first, then rows; values are rounded to bytes after each. Weights have 22 fractional
// bits, so that sums are exact and the same on every machine.
#include "data/image/image_resize.hpp"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>

#include "base/check.hpp"

namespace pipetrain {

namespace {

constexpr std::int64_t resized_pixels_max = std::int64_t{1} << 25;  // 101 MB as RGB
constexpr std::int64_t resized_side_max = 65'535;                   // as in a JPEG
constexpr int weight_bits = 22;
constexpr std::int32_t one_half = 1 << (weight_bits - 1);

struct Taps {  // the weights for one pixel of the result, along one axis
  int first = 0;
  std::vector<std::int32_t> weights;
};

Taps taps_of(int pixel, double scale, int from) {
  const double reach = std::max(scale, 1.0), centre = (pixel + 0.5) * scale;
  const int first = std::max(static_cast<int>(centre - reach + 0.5), 0);
  const int last = std::min(static_cast<int>(centre + reach + 0.5), from);
  std::vector<double> weights;
  double sum = 0;
  for (int i = first; i < last; ++i) {
    weights.push_back(std::max(0.0, 1.0 - std::abs((i - centre + 0.5) / reach)));
    sum += weights.back();
  }
  Taps taps{first, {}};
  for (const double weight : weights)
    taps.weights.push_back(static_cast<std::int32_t>(0.5 + weight / sum * (1 << weight_bits)));
  return taps;
}

std::vector<Taps> taps_along(int from, int to) {
  std::vector<Taps> taps;
  for (int i = 0; i < to; ++i)
    taps.push_back(taps_of(i, static_cast<double>(from) / static_cast<double>(to), from));
  return taps;
}

std::uint8_t rounded(std::int32_t sum) {
  return static_cast<std::uint8_t>(std::clamp(sum >> weight_bits, 0, 255));
}

// The weighted mean of bytes that are `stride` apart, from `at` on.
std::uint8_t weighted(const std::uint8_t* at, std::size_t stride, const Taps& taps) {
  std::int32_t sum = one_half;
  for (const std::int32_t weight : taps.weights) {
    sum += weight * *at;
    at += stride;
  }
  return rounded(sum);
}

std::size_t row_bytes(const Image& image) {
  return static_cast<std::size_t>(image.width) * static_cast<std::size_t>(image.channels);
}

Image image_like(const Image& other, int height, int width) {
  Image image{height, width, other.channels, {}};
  image.bytes.resize(row_bytes(image) * static_cast<std::size_t>(height));
  return image;
}

Image with_width(const Image& image, int width) {
  Image result = image_like(image, image.height, width);
  const auto channels = static_cast<std::size_t>(image.channels);
  const std::vector<Taps> taps = taps_along(image.width, width);
  std::uint8_t* to = result.bytes.data();
  for (int y = 0; y < image.height; ++y) {
    const std::uint8_t* row = image.bytes.data() + static_cast<std::size_t>(y) * row_bytes(image);
    for (const Taps& tap : taps)
      for (std::size_t c = 0; c < channels; ++c)
        *to++ = weighted(row + static_cast<std::size_t>(tap.first) * channels + c, channels, tap);
  }
  return result;
}

Image with_height(const Image& image, int height) {
  Image result = image_like(image, height, image.width);
  const std::size_t row = row_bytes(image);
  std::vector<std::int32_t> sums(row);
  std::uint8_t* to = result.bytes.data();
  for (const Taps& tap : taps_along(image.height, height)) {
    const std::uint8_t* from = image.bytes.data() + static_cast<std::size_t>(tap.first) * row;
    std::ranges::fill(sums, one_half);
    for (const std::int32_t weight : tap.weights) {
      for (std::size_t x = 0; x < row; ++x) sums[x] += weight * from[x];
      from += row;
    }
    to = std::ranges::transform(sums, to, rounded).out;
  }
  return result;
}

// Checked before allocating: a small file can hold one long line of pixels.
void check_resized(const Image& image, std::int64_t height, std::int64_t width) {
  if (std::max(height, width) <= resized_side_max && height * width <= resized_pixels_max &&
      image.height * width <= pixels_max)
    return;
  throw BadImage(
      fmt::format("{} x {} pixels would become {} x {}; an image of {} pixels, no side above {}, "
                  "is the largest",
                  image.height, image.width, height, width, resized_pixels_max, resized_side_max));
}

}  // namespace

Image cut_out(const Image& image, const ImageBox& box) {
  PIPETRAIN_CHECK(box.top >= 0 && box.left >= 0 && box.top + box.height <= image.height &&
                      box.left + box.width <= image.width,
                  "a box of {} x {} at {}, {} of an image of {} x {}", box.height, box.width,
                  box.top, box.left, image.height, image.width);
  Image result = image_like(image, box.height, box.width);
  const auto channels = static_cast<std::size_t>(image.channels);
  for (int y = 0; y < box.height; ++y) {
    const std::size_t from = static_cast<std::size_t>(box.top + y) * row_bytes(image) +
                             static_cast<std::size_t>(box.left) * channels;
    std::copy_n(image.bytes.begin() + static_cast<std::ptrdiff_t>(from), row_bytes(result),
                result.bytes.begin() +
                    static_cast<std::ptrdiff_t>(static_cast<std::size_t>(y) * row_bytes(result)));
  }
  return result;
}

Image resized(Image image, int height, int width) {
  PIPETRAIN_CHECK(height > 0 && width > 0, "an image of {} x {}", height, width);
  check_resized(image, height, width);
  if (image.width != width) image = with_width(image, width);
  if (image.height != height) image = with_height(image, height);
  return image;
}

Image resized_shorter_side(Image image, int side) {
  const int shorter = std::min(image.height, image.width);
  const std::int64_t longer = std::int64_t{side} * std::max(image.height, image.width) / shorter;
  const bool wide = image.height < image.width;
  check_resized(image, wide ? side : longer, wide ? longer : side);
  const int length = static_cast<int>(longer);
  return wide ? resized(std::move(image), side, length) : resized(std::move(image), length, side);
}

}  // namespace pipetrain
