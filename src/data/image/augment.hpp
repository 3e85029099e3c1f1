// What happens to an image between its file and the model: a window of the model's size is cut out,
// possibly mirrored, and its values are shifted and scaled per channel. Training draws the window
// at random; validation takes the centre. Random numbers are a function of (seed, mini-batch,
// sample).
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "base/rng.hpp"
#include "data/dataset.hpp"
#include "data/image/image_resize.hpp"
#include "graph/shape.hpp"

namespace pipetrain {

struct Augment {
  int channels = 0, height = 0, width = 0;  // of the window: the model's input
  bool training = false;                    // false: the centre, never mirrored, no padding
  int padding = 0;                          // zeros added on each side of the image
  bool flip = false;                        // mirror left to right, half of the time
  std::vector<float> mean, std;             // per channel: y = (x - mean) / std
  std::uint64_t seed = 1;
};

struct Window {  // top, left: of the window in the image; negative in the padding
  int top = 0, left = 0;
  bool mirrored = false;
};

// From [data], for images of the model's input shape [C, H, W]. UsageError if crop, mean or std do
// not fit it.
Augment training_augment(const DataConfig& config, const Shape& input, std::uint64_t seed);
Augment validation_augment(const DataConfig& config, const Shape& input);

// The random numbers for one reading of one sample.
Random augment_numbers(std::uint64_t seed, const SampleRequest& sample);

// BadImage if an image of `height` x `width` is smaller than the window.
Window choose_window(const Augment& augment, int height, int width, Random& random);
// `image` is [channels, height, width] in 0..1; `to` is [channels, augment.height, augment.width].
void cut_window(const Augment& augment, const float* image, int height, int width,
                const Window& window, float* to);

// The part of an image that random_resized_crop takes: 8% to 100% of its area, with a width of 3/4
// to 4/3 of the height, drawn like torchvision's RandomResizedCrop (Szegedy et al., arXiv
// 1409.4842, section 6).
ImageBox random_resized_box(int height, int width, Random& random);

// A data set of `images` [C, H, W], each through its window; `images` itself if there is nothing to
// do.
std::unique_ptr<const Dataset> augmented(std::unique_ptr<const Dataset> images, Augment augment);

}  // namespace pipetrain
