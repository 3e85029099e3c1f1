// What is done to an image between its file and the model: a window of the model's size is cut out,
// mirrored or not, and its values are shifted and scaled channel by channel. Training draws the
// window; validation takes the centre. Drawn numbers are a function of (seed, mini-batch, sample).
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
  int padding = 0;                          // zeros on each side of the image
  bool flip = false;                        // mirrored left to right, one time in two
  std::vector<float> mean, std;             // per channel: y = (x - mean) / std
  std::uint64_t seed = 1;
};

struct Window {  // where its first row and column are in the image: below 0 in the padding
  int top = 0, left = 0;
  bool mirrored = false;
};

// Of [data], for images of the model's input shape [C, H, W]: UsageError where crop, mean or std do
// not fit it.
Augment training_augment(const DataConfig& config, const Shape& input, std::uint64_t seed);
Augment validation_augment(const DataConfig& config, const Shape& input);

// The numbers of one reading of one sample.
Random augment_numbers(std::uint64_t seed, const SampleRequest& sample);

// BadImage where an image of `height` x `width` is smaller than the window.
Window choose_window(const Augment& augment, int height, int width, Random& random);
// `image` is [channels, height, width] in 0..1; `to` is [channels, augment.height, augment.width].
void cut_window(const Augment& augment, const float* image, int height, int width,
                const Window& window, float* to);

// The part of an image that random_resized_crop takes: 8% to all of its area, 3/4 to 4/3 as wide as
// high, as torchvision's RandomResizedCrop draws it (Szegedy et al., arXiv 1409.4842, section 6).
ImageBox random_resized_box(int height, int width, Random& random);

// Another set of images [C, H, W], each through its window. The set itself where nothing is to do.
std::unique_ptr<const Dataset> augmented(std::unique_ptr<const Dataset> images, Augment augment);

}  // namespace pipetrain
