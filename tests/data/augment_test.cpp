// Windows: in the middle to validate, drawn to train; padding, mirroring, scaling; what they depend
// on.
#include "data/image/augment.hpp"

#include <map>

#include "catch.hpp"
#include "data_files.hpp"
#include "graph/graph.hpp"

using namespace pipetrain;
using namespace pipetrain::test;

namespace {

Augment window_of(int height, int width, bool training = true) {
  return {.channels = 1,
          .height = height,
          .width = width,
          .training = training,
          .mean = {0},
          .std = {1}};
}

std::vector<float> cut(const Augment& augment, const std::vector<float>& image, int height,
                       int width, const Window& window) {
  std::vector<float> out(
      static_cast<std::size_t>(augment.channels * augment.height * augment.width));
  cut_window(augment, image.data(), height, width, window, out.data());
  return out;
}

// 4 images of [1, 2, 3] as npy data.
struct FourImages {
  Folder folder;
  std::unique_ptr<const Dataset> open() const {
    std::vector<float> values;
    for (int i = 0; i < 24; ++i) values.push_back(static_cast<float>(i));
    DataConfig config;
    config.kind = DataKind::Npy;
    config.batch_size = 1;
    config.train_inputs =
        folder.write("x.npy", npy(npy_header("<f4", "(4, 1, 2, 3)"), raw(values)));
    config.train_labels = folder.write(
        "y.npy", npy(npy_header("<i4", "(4,)"), raw(std::vector<std::int32_t>{3, 2, 1, 0})));
    return std::move(open_datasets(config, model({{1, 2, 3}}, {{4}}), 1).train);
  }
};

}  // namespace

TEST_CASE("augment: the window to validate is in the middle, halves to the even", "[augment]") {
  Random random(1, "test");
  const auto at = [&](int height, int width) {
    const Window window = choose_window(window_of(4, 4, false), height, width, random);
    return std::pair(window.top, window.left);
  };
  CHECK(at(4, 4) == std::pair(0, 0));
  CHECK(at(6, 10) == std::pair(1, 3));
  CHECK(at(5, 7) == std::pair(0, 2));  // 0.5 and 1.5
}

TEST_CASE("augment: the window to train is anywhere, mirrored one time in two", "[augment]") {
  Augment augment = window_of(3, 2);
  augment.padding = 1;
  augment.flip = true;
  Random random(1, "test");
  std::map<int, int> tops, lefts, mirrored;
  for (int i = 0; i < 1200; ++i) {
    const Window window = choose_window(augment, 4, 3, random);
    ++tops[window.top];
    ++lefts[window.left];
    ++mirrored[window.mirrored];
  }
  const auto even = [](const std::map<int, int>& seen, int first, int last) {
    CHECK(seen.begin()->first == first);
    CHECK(seen.rbegin()->first == last);
    for (const auto& [value, count] : seen) {
      INFO(value);
      CHECK(std::abs(count - 1200 / (last - first + 1)) < 90);
    }
  };
  even(tops, -1, 2);
  even(lefts, -1, 2);
  even(mirrored, 0, 1);
}

TEST_CASE("augment: an image that is smaller than the window", "[augment]") {
  Random random(1, "test");
  Augment augment = window_of(4, 4);
  CHECK(contains(message_of<BadImage>([&] { choose_window(augment, 4, 3, random); }),
                 "4 x 3 is smaller than the 4 x 4"));
  augment.padding = 1;
  choose_window(augment, 2, 2, random);
  augment.training = false;
  CHECK(contains(message_of<BadImage>([&] { choose_window(augment, 3, 4, random); }), "3 x 4"));
}

TEST_CASE("augment: what a window holds", "[augment]") {
  const std::vector<float> image = {1, 2, 3, 4, 5, 6};  // 2 x 3
  const Augment two = window_of(2, 2);
  CHECK(cut(two, image, 2, 3, {0, 1, false}) == std::vector<float>{2, 3, 5, 6});
  CHECK(cut(two, image, 2, 3, {0, 1, true}) == std::vector<float>{3, 2, 6, 5});
  CHECK(cut(two, image, 2, 3, {-1, -1, false}) == std::vector<float>{0, 0, 0, 1});
  CHECK(cut(two, image, 2, 3, {1, 2, true}) == std::vector<float>{0, 6, 0, 0});
  Augment scaled = window_of(1, 2);
  scaled.channels = 2;
  scaled.mean = {1, 10};
  scaled.std = {2, 0.5f};
  // The zeros around are shifted and scaled like the pixels that they surround.
  CHECK(cut(scaled, {3, 12}, 1, 1, {0, 0, false}) == std::vector<float>{1, -0.5f, 4, -20});
}

TEST_CASE("augment: parts of 8% to 100%, 3/4 to 4/3 as wide as high", "[augment]") {
  Random random(7, "test");
  double least = 1, most = 0;
  for (int i = 0; i < 2000; ++i) {
    const ImageBox box = random_resized_box(300, 400, random);
    const double area = box.height * box.width / 120000.0, ratio = 1.0 * box.width / box.height;
    least = std::min(least, area);
    most = std::max(most, area);
    CHECK(ratio > 0.74);
    CHECK(ratio < 1.35);
    CHECK((box.top >= 0 && box.left >= 0));
    CHECK((box.top + box.height <= 300 && box.left + box.width <= 400));
  }
  CHECK(least > 0.079);
  CHECK(least < 0.1);
  CHECK(most > 0.85);
  const ImageBox strip = random_resized_box(10, 400, random);  // no such part fits
  CHECK((strip.height == 10 && strip.width == 13));
  const ImageBox point = random_resized_box(1, 1, random);
  CHECK((point.height == 1 && point.width == 1));
}

TEST_CASE("augment: drawn by seed, mini-batch and sample alone", "[augment]") {
  const auto number = [](std::uint64_t seed, std::int64_t index, std::int64_t step) {
    return augment_numbers(seed, {index, step}).next();
  };
  CHECK(number(1, 2, 3) == number(1, 2, 3));
  CHECK(number(1, 2, 3) != number(2, 2, 3));
  CHECK(number(1, 2, 3) != number(1, 3, 3));
  CHECK(number(1, 2, 3) != number(1, 2, 4));
  CHECK(number(1, 2, 3) != number(1, 3, 2));
}

TEST_CASE("augment: a set of images through windows", "[augment]") {
  const FourImages written;
  Augment augment = window_of(2, 3);
  const std::unique_ptr<const Dataset> plain = augmented(written.open(), augment);
  CHECK(sample(*plain, 1).input == std::vector<float>{6, 7, 8, 9, 10, 11});
  augment.flip = true;
  const std::unique_ptr<const Dataset> flipped = augmented(written.open(), augment);
  int mirrored = 0;
  for (std::int64_t step = 0; step < 64; ++step) {
    const ReadSample read = sample(*flipped, 1, step);
    CHECK(read == sample(*flipped, 1, step));
    CHECK(read.target_class == 2);
    if (read.input != std::vector<float>{8, 7, 6, 11, 10, 9}) continue;
    ++mirrored;
  }
  CHECK(mirrored > 16);
  CHECK(mirrored < 48);
  augment.training = false;
  augment.mean = {6};
  augment.std = {2};
  const std::unique_ptr<const Dataset> scaled = augmented(written.open(), augment);
  CHECK(sample(*scaled, 1).input == std::vector<float>{0, 0.5f, 1, 1.5f, 2, 2.5f});
}

TEST_CASE("augment: mean, std and crop that do not fit the model", "[augment]") {
  const Shape input{{3, 8, 6}};
  const auto refused = [&](const DataConfig& config) {
    return message_of<UsageError>([&] { training_augment(config, input, 1); });
  };
  DataConfig config;
  config.mean = {0.5};
  config.std = {1, 2, 4};
  config.crop = {8, 6};
  const Augment augment = training_augment(config, input, 1);
  CHECK(augment.mean == std::vector<float>{0.5f, 0.5f, 0.5f});
  CHECK(augment.std == std::vector<float>{1, 2, 4});
  config.crop = {8, 0};
  CHECK(contains(refused(config), "images of 8 x 8, but the model's input is [3, 8, 6]"));
  config.crop = {};
  config.mean = {1, 2};
  CHECK(contains(refused(config), "data.mean has 2 numbers"));
}
