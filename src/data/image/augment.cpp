#include "data/image/augment.hpp"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>

#include "base/error.hpp"

namespace pipetrain {

namespace {

// One number for all channels, one for each, or none.
std::vector<float> per_channel(const std::vector<double>& values, std::string_view key,
                               float if_none, const Shape& input) {
  const auto channels = static_cast<std::size_t>(input.dims[0]);
  if (values.size() > 1 && values.size() != channels)
    throw UsageError(
        fmt::format("data.{} has {} numbers, but the model's input {} has {} channels; write one "
                    "number for each channel, or one for all",
                    key, values.size(), input.text(), channels));
  std::vector<float> result(channels, values.empty() ? if_none : static_cast<float>(values[0]));
  if (values.size() > 1)
    std::ranges::transform(values, result.begin(),
                           [](double value) { return static_cast<float>(value); });
  return result;
}

void check_crop(const ImageSides& crop, const Shape& input) {
  if (crop.height == 0) return;
  const int width = crop.width == 0 ? crop.height : crop.width;
  if (crop.height == input.dims[1] && width == input.dims[2]) return;
  throw UsageError(
      fmt::format("data.crop makes images of {} x {}, but the model's input is {}; write crop = "
                  "[{}, {}], or leave it out",
                  crop.height, width, input.text(), input.dims[1], input.dims[2]));
}

// Half of what is left over; of two candidates, the even number.
int centred(int length, int window) {
  return static_cast<int>(std::lrint((length - window) / 2.0));
}

int drawn(int length, int window, int padding, Random& random) {
  const int places = length + 2 * padding - window + 1;
  return static_cast<int>(random.below(static_cast<std::uint64_t>(places))) - padding;
}

class Augmented final : public Dataset {
 public:
  Augmented(std::unique_ptr<const Dataset> images, Augment augment)
      : images_(std::move(images)), augment_(std::move(augment)) {}
  std::int64_t size() const override { return images_->size(); }
  const Shape& input_shape() const override { return images_->input_shape(); }
  int classes() const override { return images_->classes(); }
  const Shape& target_shape() const override { return images_->target_shape(); }
  void read(const SampleRequest& request, const Sample& sample) const override {
    if (!sample.input) return images_->read(request, sample);
    std::vector<float> image(input_shape().elements());
    Sample whole = sample;
    whole.input = image.data();
    images_->read(request, whole);
    Random random = augment_numbers(augment_.seed, request);
    const Window window = choose_window(augment_, augment_.height, augment_.width, random);
    cut_window(augment_, image.data(), augment_.height, augment_.width, window, sample.input);
  }

 private:
  std::unique_ptr<const Dataset> images_;
  Augment augment_;
};

}  // namespace

Augment validation_augment(const DataConfig& config, const Shape& input) {
  check_crop(config.crop, input);
  Augment augment;
  augment.channels = static_cast<int>(input.dims[0]);
  augment.height = static_cast<int>(input.dims[1]);
  augment.width = static_cast<int>(input.dims[2]);
  augment.mean = per_channel(config.mean, "mean", 0, input);
  augment.std = per_channel(config.std, "std", 1, input);
  return augment;
}

Augment training_augment(const DataConfig& config, const Shape& input, std::uint64_t seed) {
  Augment augment = validation_augment(config, input);
  augment.training = true;
  augment.padding = config.padding;
  augment.flip = config.flip;
  augment.seed = seed;
  return augment;
}

Random augment_numbers(std::uint64_t seed, const SampleRequest& sample) {
  static const std::uint64_t stream = hash_name("augment");
  const auto key = philox(seed, static_cast<std::uint64_t>(sample.step), stream);
  return {std::uint64_t{key[0]} << 32 | key[1], static_cast<std::uint64_t>(sample.index)};
}

Window choose_window(const Augment& augment, int height, int width, Random& random) {
  const int padding = augment.training ? augment.padding : 0;
  if (height + 2 * padding < augment.height || width + 2 * padding < augment.width)
    throw BadImage(
        fmt::format("an image of {} x {} is smaller than the {} x {} that the model takes; write a "
                    "data.resize that enlarges it",
                    height, width, augment.height, augment.width));
  if (!augment.training)
    return {centred(height, augment.height), centred(width, augment.width), false};
  Window window;
  window.top = drawn(height, augment.height, padding, random);
  window.left = drawn(width, augment.width, padding, random);
  window.mirrored = augment.flip && random.below(2) == 1;
  return window;
}

void cut_window(const Augment& augment, const float* image, int height, int width,
                const Window& window, float* to) {
  for (int c = 0; c < augment.channels; ++c) {
    const float mean = augment.mean[c];
    const float std = augment.std[c];
    for (int row = 0; row < augment.height; ++row) {
      const int y = window.top + row;
      const float* from = image + (static_cast<std::ptrdiff_t>(c) * height + y) * width;
      for (int column = 0; column < augment.width; ++column) {
        const int x = window.left + (window.mirrored ? augment.width - 1 - column : column);
        const bool inside = y >= 0 && y < height && x >= 0 && x < width;
        *to++ = ((inside ? from[x] : 0.0f) - mean) / std;
      }
    }
  }
}

ImageBox random_resized_box(int height, int width, Random& random) {
  constexpr double least_area = 0.08, widest = 4.0 / 3.0;
  constexpr int tries = 10;
  for (int i = 0; i < tries; ++i) {
    const double area = static_cast<double>(height) * width * random.uniform(least_area, 1);
    const double ratio = std::exp(random.uniform(-std::log(widest), std::log(widest)));
    const int w = static_cast<int>(std::lrint(std::sqrt(area * ratio)));
    const int h = static_cast<int>(std::lrint(std::sqrt(area / ratio)));
    if (w < 1 || h < 1 || w > width || h > height) continue;
    const int top = drawn(height, h, 0, random);
    return {top, drawn(width, w, 0, random), h, w};
  }
  // For a long strip: the widest box allowed, from its middle.
  const int h = std::clamp(static_cast<int>(std::lrint(width * widest)), 1, height);
  const int w = std::clamp(static_cast<int>(std::lrint(height * widest)), 1, width);
  return {centred(height, h), centred(width, w), h, w};
}

std::unique_ptr<const Dataset> augmented(std::unique_ptr<const Dataset> images, Augment augment) {
  const auto all = [](const std::vector<float>& values, float value) {
    return std::ranges::count(values, value) == std::ssize(values);
  };
  const bool moves = augment.training && (augment.padding > 0 || augment.flip);
  if (!images || (!moves && all(augment.mean, 0) && all(augment.std, 1))) return images;
  return std::make_unique<Augmented>(std::move(images), std::move(augment));
}

}  // namespace pipetrain
